// Small modules for the importer's tests, and shortcuts to look up values in them.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_TESTING_MODULES_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_TESTING_MODULES_H_

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "simulator/hlo/testing/modules.h"
#include "simulator/import/analysis/analyzed_module.h"

namespace mallocmuzero::testing {

// Analyses text that must be valid.
inline std::unique_ptr<AnalyzedModule> MustAnalyze(std::string text, const InPlaceHints& hints = {},
                                                   std::string path = "folder/test.hlo") {
  auto analyzed = AnalyzeModule(hlo::MustParse(std::move(text)), std::move(path), hints);
  if (!analyzed.ok()) {
    std::cerr << analyzed.status() << "\n";
    std::abort();
  }
  return *std::move(analyzed);
}

// The error message for text that parses but that the analysis must refuse.
inline std::string AnalysisError(std::string text) {
  const auto analyzed = AnalyzeModule(hlo::MustParse(std::move(text)), "test.hlo", {});
  EXPECT_EQ(analyzed.status().code(), absl::StatusCode::kInvalidArgument) << analyzed.status();
  return std::string(analyzed.status().message());
}

// The first instance of the computation with that name.
inline int32_t InstanceOf(const AnalyzedModule& analyzed, absl::string_view computation) {
  for (int32_t i = 0; i < analyzed.schedule.instances.size(); ++i) {
    if (analyzed.schedule.ComputationOf(i).name == computation) return i;
  }
  ADD_FAILURE() << "no computation " << computation;
  return 0;
}

// The values of an instruction in that computation.
inline std::vector<ValueId> ValuesOf(const AnalyzedModule& analyzed, absl::string_view instruction,
                                     absl::string_view computation = "main") {
  const int32_t instance = InstanceOf(analyzed, computation);
  const auto index = analyzed.schedule.ComputationOf(instance).Find(instruction);
  EXPECT_TRUE(index.has_value()) << instruction;
  const auto values = analyzed.flow.ValuesOf(instance, index.value_or(0));
  return {values.begin(), values.end()};
}

// The storages of these values, one for each leaf.
inline std::vector<int32_t> StoragesOf(const AnalyzedModule& analyzed,
                                       absl::string_view instruction,
                                       absl::string_view computation = "main") {
  std::vector<int32_t> storages;
  for (ValueId value : ValuesOf(analyzed, instruction, computation)) {
    storages.push_back(analyzed.flow.StorageOf(value));
  }
  return storages;
}

// A backend_config with an estimate of `cycles`.
inline std::string Cycles(int cycles) {
  return absl::StrCat(R"(, backend_config={"window_config":{"estimated_cycles":")", cycles, "\"}}");
}

// A module with one loop over (s32[] counter, f32[8] state). `%w` executes the lines `body`
// `trip_count` times; they must compute `%state` from `%x` (the state) and `%i` (the counter).
inline std::string LoopModule(int trip_count, absl::string_view body) {
  return hlo::EntryModule(
      absl::StrCat("%z = s32[] constant(0)\n%init = f32[8] parameter(0)\n"
                   "%t = (s32[], f32[8]) tuple(%z, %init)\n"
                   "%w = (s32[], f32[8]) while(%t), condition=%cond, body=%body, "
                   R"(backend_config={"known_trip_count":{"n":")",
                   trip_count, "\"}}\nROOT %result = f32[8] get-tuple-element(%w), index=1"),
      absl::StrCat("%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {\n"
                   "%p = (s32[], f32[8]) parameter(0)\n"
                   "%i = s32[] get-tuple-element(%p), index=0\n"
                   "%x = f32[8] get-tuple-element(%p), index=1\n"
                   "%one = s32[] constant(1)\n%n = s32[] add(%i, %one)\n",
                   body,
                   "\nROOT %r = (s32[], f32[8]) tuple(%n, %state)\n}\n"
                   "%cond (q: (s32[], f32[8])) -> pred[] {\n"
                   "%q = (s32[], f32[8]) parameter(0)\n"
                   "%j = s32[] get-tuple-element(%q), index=0\n"
                   "%limit = s32[] constant(10)\n"
                   "ROOT %c = pred[] compare(%j, %limit), direction=LT\n}\n"));
}

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_TESTING_MODULES_H_
