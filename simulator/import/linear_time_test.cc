// Modules for which time in the square of their length would be minutes or more.

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/import/analysis/price_module.h"
#include "simulator/import/baseline/baseline.h"
#include "simulator/import/matching/match.h"
#include "simulator/import/structure/assemble.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using testing::MustAnalyze;
using testing::SmallHardware;
using testing::StoragesOf;

// The pieces that `piece_of` makes of the numbers below `times`, with commas between them.
template <typename PieceOf>
std::string CommaSeparated(int times, const PieceOf& piece_of) {
  std::string text;
  for (int i = 0; i < times; ++i) absl::StrAppend(&text, i > 0 ? ", " : "", piece_of(i));
  return text;
}

// The shape of a tuple of so many arrays of 32 bytes.
std::string TupleShape(int arrays) {
  return absl::StrCat("(", CommaSeparated(arrays, [](int) { return "f32[8]"; }), ")");
}

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

// An instruction lists its operand half a million times, and has 160,000 inlined copies.
TEST(LinearTime, ListedAliasesAreReadOnceForAllInlinedCopies) {
  constexpr int kTimes = 400;
  const std::string list = CommaSeparated(1 << 19, [](int) { return "\"0\""; });
  const auto module = MustAnalyze(
      hlo::EntryModule(
          "%p = f32[8] parameter(0)\nROOT %r = f32[8] call(%p), to_apply=%outer",
          absl::StrCat("%inner {\n%p = f32[8] parameter(0)\n"
                       "ROOT %x = f32[8] custom-call(%p), custom_call_target=\"k\", "
                       "backend_config={\"aliasing_operands\":{\"lists\":[{\"indices\":[",
                       list, ", \"1\"]}]}}\n}\n", Caller("middle", "inner", kTimes),
                       Caller("outer", "middle", kTimes))),
      {{"x", {{.operand = 0, .output_leaf = 0}}}});
  const v1::Program program = Assemble(*module, SmallHardware()).program;
  ASSERT_EQ(program.source().instructions_size(), kTimes * kTimes);
  EXPECT_EQ(program.source().instructions(0).aliases_size(), 1);
  EXPECT_EQ(program.source().instructions(kTimes * kTimes - 1).aliases_size(), 1);
}

// The baseline of a program and its default. Both call `%inner`, which `lines` defines, `kCopies *
// kCopies` times with the same array.
constexpr int kCopies = 400;
v1::Baseline BaselineOfCopies(absl::string_view lines, absl::string_view lines_of_default) {
  const auto analyzed = [](absl::string_view inner) {
    return MustAnalyze(hlo::EntryModule(
        "%p = f32[8] parameter(0)\nROOT %r = f32[8] call(%p), to_apply=%outer",
        absl::StrCat("%inner {\n%p = f32[8] parameter(0)\n", inner, "}\n",
                     Caller("middle", "inner", kCopies), Caller("outer", "middle", kCopies))));
  };
  const auto all_hbm = analyzed(lines);
  const auto other = analyzed(lines_of_default);
  const v1::Program program = Assemble(*all_hbm, SmallHardware()).program;
  return MakeBaseline(program, *other, MatchModule(program, *other));
}

// Each copy of the computation has a stay of the same array, which is copied in and out.
TEST(LinearTime, ManyStaysOfOneArrayAreCopiedOut) {
  const v1::Baseline baseline =
      BaselineOfCopies("ROOT %x = f32[8] negate(%p)\n",
                       "%s = (f32[8]{0:S(3)}, f32[8], u32[]{:S(2)}) copy-start(%p)\n"
                       "%d = f32[8]{0:S(3)} copy-done(%s)\n"
                       "%t = (f32[8], f32[8]{0:S(3)}, u32[]{:S(2)}) copy-start(%d)\n"
                       "%e = f32[8] copy-done(%t)\nROOT %x = f32[8] negate(%d)\n");
  EXPECT_EQ(baseline.mapping().intervals_size(), kCopies * kCopies);
}

// The default lacks an instruction of each copy, and has as many stays of the array.
TEST(LinearTime, ManyInstructionsThatTheDefaultLacksReadOneArray) {
  const v1::Baseline baseline =
      BaselineOfCopies("%u = f32[8] negate(%p)\nROOT %x = f32[8] negate(%p)\n",
                       "%s = (f32[8]{0:S(3)}, f32[8], u32[]{:S(2)}) copy-start(%p)\n"
                       "%d = f32[8]{0:S(3)} copy-done(%s)\nROOT %x = f32[8] negate(%d)\n");
  EXPECT_EQ(baseline.mapping().intervals_size(), kCopies * kCopies);
  EXPECT_THAT(baseline.notes(), ::testing::Contains(::testing::HasSubstr("too many instructions")));
}

// Each result of the fusion is the end of one chain of names, at whose begin a parameter is
// updated.
TEST(LinearTime, ManyResultsAreBehindALongChainOfNames) {
  constexpr int kTimes = 1 << 17;
  const std::string shape = TupleShape(kTimes);
  std::string chain = "%b0 = f32[8] dynamic-update-slice(%p, %u, %i)\n";
  for (int i = 1; i < kTimes; ++i) {
    absl::StrAppend(&chain, "%b", i, " = f32[8] bitcast(%b", i - 1, ")\n");
  }
  const std::string parameters =
      "%p = f32[8] parameter(0)\n%u = f32[1] parameter(1)\n%i = s32[] parameter(2)\n";
  const auto module = MustAnalyze(hlo::EntryModule(
      absl::StrCat(parameters, "ROOT %r = ", shape, " fusion(%p, %u, %i), kind=kLoop, calls=%f"),
      absl::StrCat("%f {\n", parameters, chain, "ROOT %t = ", shape, " tuple(",
                   CommaSeparated(kTimes, [](int) { return absl::StrCat("%b", kTimes - 1); }),
                   ")\n}\n")));
  ASSERT_EQ(module->priced.size(), 1);
  ASSERT_EQ(module->priced[0].traffic.output_bytes.size(), kTimes);
  EXPECT_EQ(module->priced[0].traffic.output_bytes.back(), 4);  // one number is updated
  EXPECT_EQ(StoragesOf(*module, "r").back(), StoragesOf(*module, "p")[0]);
}

// The fusion, and the kernel in it, state for each result that it is in the buffer of the operand.
TEST(LinearTime, ManyResultsStateTheirOperand) {
  constexpr int kTimes = 1 << 18;
  const std::string shape = TupleShape(kTimes);
  const std::string aliases = absl::StrCat(
      ", output_to_operand_aliasing={",
      CommaSeparated(kTimes, [](int i) { return absl::StrCat("{", i, "}: (0, {})"); }), "}");
  const std::string parameter = "%p = f32[8] parameter(0)\n";
  const auto module = MustAnalyze(hlo::EntryModule(
      absl::StrCat(parameter, "ROOT %r = ", shape, " fusion(%p), kind=kLoop, calls=%f", aliases),
      absl::StrCat("%f {\n", parameter, "ROOT %c = ", shape,
                   " custom-call(%p), custom_call_target=\"k\"", aliases, "\n}\n")));
  EXPECT_EQ(StoragesOf(*module, "r").back(), StoragesOf(*module, "p")[0]);
}

// For each operand, its uses are looked for among two million operands of the instructions inside.
TEST(LinearTime, AFusionOfManyOperandsUsesOneOfThemOften) {
  constexpr int kOperands = 1 << 17;
  constexpr int kUses = 1 << 21;
  std::string parameters;
  for (int i = 0; i < kOperands; ++i) {
    absl::StrAppend(&parameters, "%p", i, " = f32[8] parameter(", i, ")\n");
  }
  const auto module = MustAnalyze(hlo::EntryModule(
      absl::StrCat(parameters, "ROOT %r = f32[8] fusion(",
                   CommaSeparated(kOperands, [](int i) { return absl::StrCat("%p", i); }),
                   "), kind=kLoop, calls=%f"),
      absl::StrCat("%f {\n", parameters, "ROOT %s = f32[8] add(",
                   CommaSeparated(kUses, [](int) { return "%p1"; }), ")\n}\n")));
  const ArrayTraffic& traffic = module->priced.at(0).traffic;
  ASSERT_EQ(traffic.operand_bytes.size(), kOperands);
  EXPECT_EQ(traffic.operand_bytes[0][0], 0);
  EXPECT_EQ(traffic.operand_bytes[1][0], 32);
}

// Loops that hand the array %w0 on as %w1, %w2 and so on, and their computations.
std::string LoopsFromW0(int count) {
  std::string loops;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&loops, "%w", i + 1, " = f32[8] while(%w", i, "), condition=%c, body=%b\n");
  }
  return loops;
}
constexpr absl::string_view kBodyAndCondition =
    "%b {\n%p = f32[8] parameter(0)\nROOT %q = f32[8] constant({...})\n}\n"
    "%c {\n%p = f32[8] parameter(0)\nROOT %q = pred[] constant(true)\n}\n";

// The last loop carries an array that an instruction reads. This makes a buffer of the array that
// the loop begins with, which is the result of the loop before, and so on.
TEST(LinearTime, ManyLoopsHandOneArrayOn) {
  constexpr int kLoops = 3 << 16;
  const auto module =
      MustAnalyze(hlo::EntryModule(absl::StrCat("%w0 = f32[8] parameter(0)\n", LoopsFromW0(kLoops),
                                                "ROOT %r = f32[8] negate(%w", kLoops, ")"),
                                   kBodyAndCondition));
  const v1::Program program = Assemble(*module, SmallHardware()).program;
  EXPECT_EQ(program.carried_groups_size(), kLoops);
  // Each loop has a parameter, a root and a result; the rest are the first array and the last.
  EXPECT_EQ(program.buffers_size(), 3 * kLoops + 2);
}

// The computation of a fusion that starts an asynchronous all-reduce on a channel.
std::string StartOnChannel(int channel) {
  return absl::StrCat("%s", channel, " {\n%p = f32[8] parameter(0)\n%g = f32[8] all-reduce(%p), ",
                      "channel_id=", channel,
                      "\nROOT %k = f32[8] custom-call(%g), "
                      "custom_call_target=\"AsyncCollectiveStart\"\n}\n");
}

TEST(LinearTime, ACollectiveGoesOnThroughManyLoops) {
  constexpr int kLoops = 1 << 17;
  const auto module = MustAnalyze(hlo::EntryModule(
      absl::StrCat("%a = f32[8] parameter(0)\n%w0 = f32[8] fusion(%a), kind=kCustom, calls=%s1\n",
                   LoopsFromW0(kLoops), "ROOT %r = f32[8] negate(%w", kLoops, ")"),
      absl::StrCat(StartOnChannel(1), kBodyAndCondition)));
  ASSERT_EQ(module->async_collectives.size(), 1);
  // The operand, the result, and the parameter, root and result of each loop.
  EXPECT_EQ(module->async_collectives[0].storages.size(), 2 + 3 * kLoops);
}

TEST(LinearTime, CollectivesThatGoOnThroughTooManyLoopsAreRefused) {
  constexpr int kTimes = 3000;
  std::string starts;
  std::string computations(kBodyAndCondition);
  for (int i = 1; i <= kTimes; ++i) {
    absl::StrAppend(&starts, "%x", i, " = f32[8] fusion(%w0), kind=kCustom, calls=%s", i, "\n");
    computations += StartOnChannel(i);
  }
  EXPECT_THAT(
      testing::AnalysisError(hlo::EntryModule(
          absl::StrCat("%w0 = f32[8] parameter(0)\n", starts, LoopsFromW0(kTimes)), computations)),
      ::testing::HasSubstr("expected at most 4 million arrays of asynchronous collectives"));
}

}  // namespace
}  // namespace mallocmuzero
