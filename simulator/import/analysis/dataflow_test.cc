#include "simulator/import/analysis/dataflow.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using testing::AnalysisError;
using ::testing::ElementsAre;
using testing::LoopModule;
using testing::MustAnalyze;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::StoragesOf;
using testing::ValuesOf;

TEST(Dataflow, TuplesOfAnyDepthForwardTheirArrays) {
  const auto m =
      MustAnalyze(hlo::EntryModule("%a = f32[8] parameter(0)\n%b = f32[8] parameter(1)\n"
                                   "%inner = (f32[8], f32[8]) tuple(%b, %a)\n"
                                   "%outer = (f32[8], (f32[8], f32[8])) tuple(%a, %inner)\n"
                                   "%back = (f32[8], f32[8]) get-tuple-element(%outer), index=1\n"
                                   "ROOT %b2 = f32[8] get-tuple-element(%back), index=0"));
  const ValueId a = ValuesOf(*m, "a")[0];
  const ValueId b = ValuesOf(*m, "b")[0];
  EXPECT_THAT(ValuesOf(*m, "outer"), ElementsAre(a, b, a));
  EXPECT_THAT(ValuesOf(*m, "b2"), ElementsAre(b));
  EXPECT_EQ(m->flow.storage_count(), 2);
}

TEST(Dataflow, BitcastIsTheSameValue) {
  const auto m = MustAnalyze(hlo::EntryModule(
      "%a = f32[8] parameter(0)\n%b = f32[2,4] bitcast(%a)\nROOT %c = f32[2,4] negate(%b)"));
  EXPECT_EQ(ValuesOf(*m, "b"), ValuesOf(*m, "a"));
  EXPECT_NE(StoragesOf(*m, "c"), StoragesOf(*m, "a"));
}

TEST(Dataflow, WhatALoopDoesNotChangeIsTheValueOutside) {
  const auto m = MustAnalyze(LoopModule(3, "%state = f32[8] bitcast(%x)"));
  EXPECT_EQ(ValuesOf(*m, "x", "body"), ValuesOf(*m, "init"));
  EXPECT_EQ(ValuesOf(*m, "result"), ValuesOf(*m, "init"));
  ASSERT_THAT(m->flow.carried(), SizeIs(1));  // only the counter
}

TEST(Dataflow, ACarriedArrayLinksFourBuffers) {
  const auto m = MustAnalyze(LoopModule(3, "%state = f32[8] negate(%x)"));
  ASSERT_THAT(m->flow.carried(), SizeIs(2));
  const CarriedValue& state = m->flow.carried()[1];
  EXPECT_EQ(state.loop, 0);
  EXPECT_EQ(state.initial, ValuesOf(*m, "init")[0]);
  EXPECT_EQ(state.parameter, ValuesOf(*m, "x", "body")[0]);
  EXPECT_EQ(state.root, ValuesOf(*m, "state", "body")[0]);
  EXPECT_EQ(state.result, ValuesOf(*m, "result")[0]);
  EXPECT_NE(m->flow.StorageOf(state.initial), m->flow.StorageOf(state.parameter));
  EXPECT_NE(m->flow.StorageOf(state.parameter), m->flow.StorageOf(state.root));
  EXPECT_NE(m->flow.StorageOf(state.root), m->flow.StorageOf(state.result));
}

TEST(Dataflow, TheConditionSeesWhatTheBodyReturned) {
  const auto m = MustAnalyze(LoopModule(3, "%state = f32[8] negate(%x)"));
  EXPECT_EQ(ValuesOf(*m, "q", "cond")[1], ValuesOf(*m, "state", "body")[0]);
}

TEST(Dataflow, AnUpdateInALoopKeepsParameterAndRootInOneBuffer) {
  const auto m = MustAnalyze(
      LoopModule(3, "%u = f32[1] constant({0})\n%state = f32[8] dynamic-update-slice(%x, %u, %i)"));
  const CarriedValue& state = m->flow.carried()[1];
  EXPECT_NE(state.root, state.parameter);
  EXPECT_EQ(m->flow.StorageOf(state.root), m->flow.StorageOf(state.parameter));
  EXPECT_NE(m->flow.StorageOf(state.root), m->flow.StorageOf(state.initial));
}

// A module whose backend_config says that %x shares the buffer of operand 0, or lists no pair.
std::string ListedModule(bool listed) {
  return hlo::EntryModule(
      absl::StrCat("%a = f32[8] parameter(0)\nROOT %x = f32[8] negate(%a), "
                   R"(backend_config={"aliasing_operands":{"lists":[)",
                   listed ? R"({"indices":["0","1"]})" : "", "]}}"));
}

TEST(CommonListedPairs, WhatAllCompilesListSharesABuffer) {
  const hlo::Module one = hlo::MustParse(ListedModule(true));
  const hlo::Module two = hlo::MustParse(ListedModule(true));
  const InPlaceHints hints = CommonListedPairs({&one, &two});
  EXPECT_THAT(hints.at("x"), ElementsAre(InPlacePair{0, 0}));
  const auto m = MustAnalyze(ListedModule(true), hints);
  EXPECT_EQ(StoragesOf(*m, "x"), StoragesOf(*m, "a"));
}

TEST(CommonListedPairs, WhatOnlySomeCompilesListIsChance) {
  const hlo::Module one = hlo::MustParse(ListedModule(true));
  const hlo::Module two = hlo::MustParse(ListedModule(false));
  for (const InPlaceHints& hints :
       {CommonListedPairs({&one, &two}), CommonListedPairs({&two, &one})}) {
    const auto m = MustAnalyze(ListedModule(true), hints);
    EXPECT_NE(StoragesOf(*m, "x"), StoragesOf(*m, "a"));
  }
}

// The pairs of the instruction in `line` if its backend_config has these lists of positions.
std::vector<InPlacePair> PairsOf(const std::string& line, const std::vector<std::string>& lists) {
  std::string text = "%a = f32[8] parameter(0)\n%b = f32[8] parameter(1)\nROOT %x = " + line +
                     R"(, backend_config={"aliasing_operands":{"lists":[)";
  for (size_t i = 0; i < lists.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? "," : "", R"({"indices":[)", lists[i], "]}");
  }
  const hlo::Module module = hlo::MustParse(hlo::EntryModule(text + "]}}"));
  return ListedPairs(module.Entry().instructions.back());
}

TEST(ListedPairs, AreOfPositionsThatTheInstructionHas) {
  const std::string sort = "(f32[8], f32[8]) sort(%a, %b)";
  EXPECT_THAT(PairsOf(sort, {R"("1","3")"}), ElementsAre(InPlacePair{1, 1}));
  EXPECT_THAT(PairsOf(sort, {R"("1","3")", R"("0","2","1")", R"("3","1")"}),
              ElementsAre(InPlacePair{0, 0}, InPlacePair{1, 0}, InPlacePair{1, 1}));
  EXPECT_THAT(PairsOf(sort, {R"("0","4")", R"("0","2147483647")", R"("0","1")", R"("2","3")", ""}),
              ElementsAre());
}

TEST(ListedPairs, OfAListWithSeveralOperandsAndOutputsLinkThemAll) {
  EXPECT_THAT(PairsOf("(f32[8], f32[8]) sort(%a, %b)", {R"("0","1","2","3")"}),
              ElementsAre(InPlacePair{0, 0}, InPlacePair{0, 1}, InPlacePair{1, 0}));
}

// 50,000 operands and as many outputs: 2.5 x 10^9 pairs if every combination counted.
TEST(ListedPairs, AreNotMultipliedByPositionsListedManyTimes) {
  std::string list = R"("0","1")";
  for (int i = 1; i < 50000; ++i) list += R"(,"0","1")";
  EXPECT_THAT(PairsOf("f32[8] negate(%a)", {list, list}), ElementsAre(InPlacePair{0, 0}));
}

TEST(ListedPairs, OfManyOperandsAndOutputsAreOneForEach) {
  const int count = 20000;
  std::string operands = "%a";
  std::string shape = "f32[8]";
  std::string list = R"("0")";
  for (int i = 1; i < count; ++i) {
    operands += ",%a";
    shape += ",f32[8]";
  }
  for (int i = 1; i < 2 * count; ++i) absl::StrAppend(&list, ",\"", i, "\"");
  EXPECT_THAT(PairsOf(absl::StrCat("(", shape, ") sort(", operands, ")"), {list}),
              SizeIs(2 * count - 1));
}

TEST(Dataflow, TheResultOfAConditionalSharesTheBuffersOfItsBranches) {
  const auto m = MustAnalyze(hlo::EntryModule(
      "%s = pred[] parameter(0)\n%a = f32[8] parameter(1)\n"
      "ROOT %c = f32[8] conditional(%s, %a, %a), true_computation=%t, false_computation=%f",
      "%t (p: f32[8]) -> f32[8] {\n%p = f32[8] parameter(0)\nROOT %n = f32[8] negate(%p)\n}\n"
      "%f (p: f32[8]) -> f32[8] {\n%q = f32[8] parameter(0)\nROOT %e = f32[8] abs(%q)\n}\n"));
  EXPECT_EQ(ValuesOf(*m, "p", "t"), ValuesOf(*m, "a"));
  EXPECT_EQ(StoragesOf(*m, "c"), StoragesOf(*m, "n", "t"));
  EXPECT_EQ(StoragesOf(*m, "c"), StoragesOf(*m, "e", "f"));
}

TEST(Dataflow, ACallReturnsWhatItsTargetReturns) {
  const auto m = MustAnalyze(
      hlo::EntryModule("%a = f32[8] parameter(0)\n%b = f32[8] parameter(1)\n"
                       "ROOT %c = (f32[8], f32[8]) call(%a, %b), to_apply=%f",
                       "%f (p: f32[8], q: f32[8]) -> (f32[8], f32[8]) {\n%p = f32[8] parameter(0)\n"
                       "%q = f32[8] parameter(1)\nROOT %t = (f32[8], f32[8]) tuple(%q, %p)\n}\n"));
  EXPECT_THAT(ValuesOf(*m, "c"), ElementsAre(ValuesOf(*m, "b")[0], ValuesOf(*m, "a")[0]));
}

TEST(Dataflow, ACopyBetweenMemoriesIsANewBufferThatKnowsItsSource) {
  const auto m =
      MustAnalyze(hlo::EntryModule("%a = f32[8] parameter(0)\n"
                                   "%s = (f32[8]{0:S(3)}, f32[8], u32[]{:S(2)}) copy-start(%a)\n"
                                   "ROOT %d = f32[8]{0:S(3)} copy-done(%s)"));
  const ValueId copy = ValuesOf(*m, "d")[0];
  EXPECT_EQ(m->flow.values()[copy].copied_from, ValuesOf(*m, "a")[0]);
  EXPECT_EQ(ValuesOf(*m, "s")[1], ValuesOf(*m, "a")[0]);
  EXPECT_NE(StoragesOf(*m, "d"), StoragesOf(*m, "a"));
}

TEST(Dataflow, PiecesOfASlicedCopyBecomeOneBuffer) {
  const auto m = MustAnalyze(hlo::EntryModule(
      "%a = f32[8] parameter(0)\n"
      "%s0 = ((f32[8]), f32[4]{0:S(3)}, s32[]{:S(2)}) slice-start(%a), slice={[0:4]}\n"
      "%s1 = ((f32[8]), f32[4]{0:S(3)}, s32[]{:S(2)}) slice-start(%a), slice={[4:8]}\n"
      "%d0 = f32[4]{0:S(3)} slice-done(%s0)\n%d1 = f32[4]{0:S(3)} slice-done(%s1)\n"
      "ROOT %c = f32[8]{0:S(3)} custom-call(%d0, %d1), custom_call_target=\"ConcatBitcast\""));
  EXPECT_EQ(StoragesOf(*m, "d0"), StoragesOf(*m, "d1"));
  EXPECT_EQ(StoragesOf(*m, "c"), StoragesOf(*m, "d0"));
  EXPECT_NE(StoragesOf(*m, "c"), StoragesOf(*m, "a"));
  for (const char* piece : {"d0", "d1"}) {
    EXPECT_EQ(m->flow.values()[ValuesOf(*m, piece)[0]].copied_from, ValuesOf(*m, "a")[0]);
  }
}

// jax reports "async-update instruction should have 1 operands" for v6e's gathers.
TEST(Dataflow, AnAsyncUpdateMayBringTheOperands) {
  const auto m = MustAnalyze(hlo::EntryModule(
      "%t = f32[32,8] parameter(0)\n%i = s32[4] parameter(1)\n"
      "%s = ((), (), s32[]{:S(11)}) async-start(), custom_call_target=\"g\"\n"
      "%u = ((f32[32,8], s32[4]), f32[4,8], s32[]{:S(11)}) async-update(%s, %t, %i)\n"
      "%d = f32[4,8] async-done(%u)\nROOT %n = f32[4,8] negate(%d)"));
  EXPECT_EQ(ValuesOf(*m, "u")[0], ValuesOf(*m, "t")[0]);
  EXPECT_EQ(ValuesOf(*m, "u")[1], ValuesOf(*m, "i")[0]);
  EXPECT_EQ(ValuesOf(*m, "d")[0], ValuesOf(*m, "u")[2]);
  EXPECT_NE(StoragesOf(*m, "d"), StoragesOf(*m, "t"));
}

TEST(Dataflow, ASendPassesItsOperandOnAndARecvDoneWhatWasReceived) {
  const auto m = MustAnalyze(
      hlo::EntryModule("%a = f32[8] parameter(0)\n%t = token[] after-all()\n"
                       "%s = (f32[8], u32[], token[]) send(%a, %t), channel_id=1\n"
                       "%sd = token[] send-done(%s), channel_id=1\n"
                       "%r = (f32[8], u32[], token[]) recv(%t), channel_id=2\n"
                       "%rd = (f32[8], token[]) recv-done(%r), channel_id=2\n"
                       "%b = f32[8] get-tuple-element(%rd), index=0\nROOT %n = f32[8] negate(%b)"));
  EXPECT_EQ(ValuesOf(*m, "s")[0], ValuesOf(*m, "a")[0]);
  EXPECT_EQ(ValuesOf(*m, "b")[0], ValuesOf(*m, "r")[0]);
  EXPECT_NE(ValuesOf(*m, "rd")[1], ValuesOf(*m, "r")[2]);
}

TEST(DataflowErrors, TupleIndexOutOfRange) {
  EXPECT_THAT(hlo::ParseError(hlo::EntryModule("%a = f32[8] parameter(0)\n%t = (f32[8]) tuple(%a)\n"
                                               "ROOT %g = f32[8] get-tuple-element(%t), index=3")),
              StartsWith("test.hlo:6:"));
}

TEST(DataflowErrors, DoneOfWhatIsNoStart) {
  EXPECT_EQ(
      AnalysisError(hlo::EntryModule("%a = f32[8] parameter(0)\nROOT %d = f32[8] copy-done(%a)")),
      "test.hlo:5:1: %d: expected an operand with element 0");
}

TEST(DataflowErrors, TupleShapeThatItsOperandsDoNotFill) {
  EXPECT_EQ(AnalysisError(hlo::EntryModule("%a = f32[8] parameter(0)\n"
                                           "ROOT %t = (f32[8], f32[8]) tuple(%a)")),
            "test.hlo:5:1: %t: expected a shape of 1 arrays, as its operands have");
}

std::string LoopOver(absl::string_view body) {
  return hlo::EntryModule(
      "%a = f32[8] parameter(0)\n%t = (f32[8]) tuple(%a)\n"
      "ROOT %w = (f32[8]) while(%t), condition=%c, body=%b",
      absl::StrCat(body,
                   "%c (p: (f32[8])) -> pred[] {\n%q = (f32[8]) parameter(0)\n"
                   "ROOT %k = pred[] constant(true)\n}\n"));
}

TEST(DataflowErrors, LoopWhoseBodyTakesOrReturnsAnotherShape) {
  EXPECT_EQ(AnalysisError(LoopOver("%b (p: (f32[8], f32[8])) -> (f32[8], f32[8]) {\n"
                                   "ROOT %p = (f32[8], f32[8]) parameter(0)\n}\n")),
            "test.hlo:6:1: %w: expected the shape its body takes");
  EXPECT_EQ(AnalysisError(LoopOver("%b (p: (f32[8])) -> (f32[8], f32[8]) {\n"
                                   "%p = (f32[8]) parameter(0)\n"
                                   "%x = f32[8] get-tuple-element(%p), index=0\n"
                                   "ROOT %r = (f32[8], f32[8]) tuple(%x, %x)\n}\n")),
            "test.hlo:6:1: %w: expected the shape its body returns");
  EXPECT_EQ(AnalysisError(LoopOver("%b () -> (f32[8]) {\n%x = f32[8] iota(), iota_dimension=0\n"
                                   "ROOT %r = (f32[8]) tuple(%x)\n}\n")),
            "test.hlo:6:1: %w: expected a body with one parameter");
}

TEST(DataflowErrors, ConditionalWithAWrongNumberOfOperands) {
  EXPECT_EQ(AnalysisError(hlo::EntryModule(
                "%s = s32[] parameter(0)\n%a = f32[8] parameter(1)\n"
                "ROOT %c = f32[8] conditional(%s, %a), branch_computations={%f, %f}",
                "%f (p: f32[8]) -> f32[8] {\nROOT %p = f32[8] parameter(0)\n}\n")),
            "test.hlo:6:1: %c: expected one operand for each branch behind the selector");
}

TEST(DataflowErrors, CalleeThatTakesMoreThanItIsGiven) {
  EXPECT_THAT(AnalysisError(hlo::EntryModule(
                  "%a = f32[8] parameter(0)\nROOT %c = f32[8] call(%a), to_apply=%f",
                  "%f (p: f32[8], q: f32[8]) -> f32[8] {\n%p = f32[8] parameter(0)\n"
                  "ROOT %q = f32[8] parameter(1)\n}\n")),
              ::testing::HasSubstr("%q: expected a parameter number that the caller passes"));
}

TEST(DataflowErrors, ConditionOrBranchThatTakesNoValue) {
  EXPECT_EQ(AnalysisError(hlo::EntryModule(
                "%a = f32[8] parameter(0)\nROOT %w = f32[8] while(%a), condition=%c, body=%b",
                "%b (p: f32[8]) -> f32[8] {\nROOT %p = f32[8] parameter(0)\n}\n"
                "%c () -> pred[] {\nROOT %k = pred[] constant(true)\n}\n")),
            "test.hlo:5:1: %w: expected a condition with one parameter");
  EXPECT_EQ(AnalysisError(hlo::EntryModule(
                "%s = s32[] parameter(0)\n%a = f32[8] parameter(1)\n"
                "ROOT %c = f32[8] conditional(%s, %a, %a), branch_computations={%f, %g}",
                "%f (p: f32[8]) -> f32[8] {\nROOT %p = f32[8] parameter(0)\n}\n"
                "%g () -> f32[8] {\nROOT %i = f32[8] iota(), iota_dimension=0\n}\n")),
            "test.hlo:6:1: %c: expected branches with one parameter");
}

TEST(DataflowErrors, CopyStartThatIsNoTuple) {
  EXPECT_EQ(AnalysisError(hlo::EntryModule(
                "%a = f32[8] parameter(0)\nROOT %s = f32[8]{0:S(3)} copy-start(%a)")),
            "test.hlo:5:1: %s: expected a tuple of operands, results and contexts");
}

TEST(DataflowErrors, TransferOfAnotherShape) {
  EXPECT_THAT(AnalysisError(hlo::EntryModule("%a = f32[8] parameter(0)\n%t = token[] after-all()\n"
                                             "ROOT %s = f32[8] send(%a, %t)")),
              StartsWith("test.hlo:6:1: %s: expected a tuple that begins with what is sent"));
}

TEST(DataflowErrors, SliceStartWithoutAnOperand) {
  EXPECT_EQ(AnalysisError(hlo::EntryModule("ROOT %s = ((f32[8]), f32[4]{0:S(3)}, s32[]{:S(2)}) "
                                           "slice-start(), slice={[0:4]}")),
            "test.hlo:4:1: %s: expected an operand");
}

}  // namespace
}  // namespace mallocmuzero
