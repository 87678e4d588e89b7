// Small modules for the parser's tests.

#ifndef MALLOCMUZERO_SIMULATOR_HLO_TESTING_MODULES_H_
#define MALLOCMUZERO_SIMULATOR_HLO_TESTING_MODULES_H_

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero::hlo {

// A module whose ENTRY computation starts on line 3, with `body` from line 4 on. `callees` are
// whole computations behind it.
inline std::string EntryModule(absl::string_view body, absl::string_view callees = "") {
  return absl::StrCat("HloModule m, is_scheduled=true\n\nENTRY %main () -> f32[] {\n", body,
                      "\n}\n", callees);
}

// Parses text that must be valid.
inline Module MustParse(std::string text) {
  absl::StatusOr<Module> module = ParseModule(std::move(text), "test.hlo");
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

// The error message for text that the parser must refuse.
inline std::string ParseError(std::string text) {
  const absl::StatusOr<Module> module = ParseModule(std::move(text), "test.hlo");
  EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(module.status().message());
}

// The named instruction of the ENTRY computation.
inline const Instruction& Get(const Module& module, absl::string_view name) {
  const absl::optional<InstructionIndex> index = module.Entry().Find(name);
  EXPECT_TRUE(index.has_value()) << name;
  return module.Entry().instructions[index.value()];
}

}  // namespace mallocmuzero::hlo

#endif  // MALLOCMUZERO_SIMULATOR_HLO_TESTING_MODULES_H_
