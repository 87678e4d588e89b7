// Modules for which time in the square of their length would be minutes or more.

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/import/analysis/price_module.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using testing::MustAnalyze;
using testing::SmallHardware;

// Fusions inside each other, each of which calls the next one three times. To count the work of the
// outermost one takes a million looks, the most that are allowed.
std::string DeepFusion() {
  constexpr int kDepth = 14;
  std::string text = absl::StrCat("%f", kDepth,
                                  " {\n%p = f32[8] parameter(0)\n"
                                  "ROOT %r = f32[8] add(%p, %p)\n}\n");
  for (int level = kDepth; level-- > 0;) {
    const std::string call = absl::StrCat("), kind=kLoop, calls=%f", level + 1, "\n");
    absl::StrAppend(&text, "%f", level, " {\n%p = f32[8] parameter(0)\n%a = f32[8] fusion(%p", call,
                    "%b = f32[8] fusion(%p", call, "%c = f32[8] fusion(%p", call,
                    "%s = f32[8] add(%a, %b)\nROOT %r = f32[8] add(%s, %c)\n}\n");
  }
  return text;
}

// A computation that calls `callee` so many times.
std::string Caller(absl::string_view name, absl::string_view callee, int times) {
  std::string text = absl::StrCat("%", name, " {\n%p = f32[8] parameter(0)\n");
  for (int i = 0; i < times; ++i) {
    absl::StrAppend(&text, i + 1 == times ? "ROOT " : "", "%x", i, " = f32[8] call(%p), to_apply=%",
                    callee, "\n");
  }
  return absl::StrCat(text, "}\n");
}

TEST(LinearTime, TheWorkOfAFusionIsCountedOnceForAllInlinedCopies) {
  constexpr int kTimes = 300;
  const auto module = MustAnalyze(hlo::EntryModule(
      "%p = f32[8] parameter(0)\nROOT %r = f32[8] call(%p), to_apply=%outer",
      absl::StrCat(DeepFusion(),
                   "%inner {\n%p = f32[8] parameter(0)\n"
                   "ROOT %x = f32[8] fusion(%p), kind=kLoop, calls=%f0\n}\n",
                   Caller("middle", "inner", kTimes), Caller("outer", "middle", kTimes))));
  ASSERT_EQ(module->priced.size(), kTimes * kTimes);
  // All copies read and write 8 numbers of 4 bytes.
  for (const PricedStep& priced : {module->priced.front(), module->priced.back()}) {
    EXPECT_EQ(priced.traffic.operand_bytes[0][0], 32);
    EXPECT_EQ(priced.traffic.output_bytes[0], 32);
  }
  const ModulePrice price = PriceSchedule(*module, SmallHardware());
  ASSERT_EQ(price.steps.size(), kTimes * kTimes);
  EXPECT_GT(price.steps.front().cycles, 0);
  EXPECT_EQ(price.steps.front().cycles, price.steps.back().cycles);
}

}  // namespace
}  // namespace mallocmuzero
