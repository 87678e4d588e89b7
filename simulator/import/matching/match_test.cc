#include "simulator/import/matching/match.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/import/matching/placement.h"
#include "simulator/import/structure/assemble.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using testing::Cycles;
using ::testing::ElementsAre;
using testing::MustAnalyze;
using testing::SmallHardware;

// Text of a compile; the tests vary `lines`.
std::string Compile(const std::string& lines) {
  return hlo::EntryModule(absl::StrCat("%a = f32[64] parameter(0)\n", lines));
}

v1::Program ProgramOf(const AnalyzedModule& all_hbm) {
  return Assemble(all_hbm, SmallHardware()).program;
}

const char kBase[] =
    "%x = f32[64]{0} negate(%a), metadata={op_name=\"n1\"}\n"
    "%y = f32[64]{0} negate(%x), metadata={op_name=\"n2\"}\n"
    "ROOT %z = f32[64] add(%x, %y), metadata={op_name=\"s\"}";

TEST(Match, ByNameWhateverTheMemory) {
  const auto base = MustAnalyze(Compile(kBase));
  const auto other =
      MustAnalyze(Compile("%x = f32[64]{0:S(3)} negate(%a)\n%y = f32[64]{0:S(3)} negate(%x)\n"
                          "ROOT %z = f32[64] add(%x, %y)"));
  const Match match = MatchModule(ProgramOf(*base), *other);
  EXPECT_THAT(match.other_of_base, ElementsAre(0, 1, 2));
  EXPECT_THAT(match.base_of_other, ElementsAre(0, 1, 2));
  EXPECT_EQ(match.report.matched_by_name(), 3);
  EXPECT_EQ(match.report.matched_by_metadata(), 0);
  EXPECT_EQ(match.report.unmatched_in_all_hbm(), 0);
  EXPECT_EQ(match.report.name(), "test.hlo");  // the name has no folders
}

TEST(Match, ByMetadataWhereNamesDiffer) {
  const auto base = MustAnalyze(Compile(kBase));
  // The names of the two negations are swapped, and the sum has another name.
  const auto other =
      MustAnalyze(Compile("%n.2 = f32[64]{0} negate(%a), metadata={op_name=\"n1\"}\n"
                          "%n.1 = f32[64]{0} negate(%n.2), metadata={op_name=\"n2\"}\n"
                          "ROOT %s = f32[64] add(%n.2, %n.1), "
                          "metadata={op_name=\"s\"}"));
  const Match match = MatchModule(ProgramOf(*base), *other);
  EXPECT_THAT(match.other_of_base, ElementsAre(0, 1, 2));
  EXPECT_EQ(match.report.matched_by_name(), 0);
  EXPECT_EQ(match.report.matched_by_metadata(), 3);
}

TEST(Match, ASharedNameIsNotEnough) {
  const auto base = MustAnalyze(Compile("ROOT %x = f32[64] negate(%a)"));
  EXPECT_THAT(MatchModule(ProgramOf(*base), *MustAnalyze(Compile("ROOT %x = f32[64] abs(%a)")))
                  .other_of_base,
              ElementsAre(-1));
  EXPECT_THAT(MatchModule(ProgramOf(*base), *MustAnalyze(Compile("ROOT %x = f32[8,8] negate(%a)")))
                  .other_of_base,
              ElementsAre(-1));
}

TEST(Match, InstructionsAlikeAreTakenInOrder) {
  const auto base = MustAnalyze(Compile("%x = f32[64] negate(%a)\nROOT %y = f32[64] negate(%x)"));
  const auto other = MustAnalyze(Compile("%p = f32[64] negate(%a)\nROOT %q = f32[64] negate(%p)"));
  EXPECT_THAT(MatchModule(ProgramOf(*base), *other).other_of_base, ElementsAre(0, 1));
}

TEST(Match, CountsWhatIsLeftOver) {
  const auto base =
      MustAnalyze(Compile(absl::StrCat("%x = f32[64] negate(%a)\n%c = f32[64] copy(%x)", Cycles(40),
                                       "\nROOT %y = f32[64] abs(%c)")));
  const auto other = MustAnalyze(
      Compile(absl::StrCat("%x = f32[64] negate(%a)\n%e = f32[64] exponential(%x)", Cycles(7),
                           "\n%f = f32[64] sqrt(%e)", Cycles(5), "\nROOT %y = f32[64] abs(%f)")));
  const Match match = MatchModule(ProgramOf(*base), *other);
  EXPECT_THAT(match.other_of_base, ElementsAre(0, -1, 3));
  EXPECT_EQ(match.report.unmatched_in_all_hbm(), 1);
  const v1::Program program = ProgramOf(*base);
  const Placement in_hbm = ReadPlacement(program, *base, MatchModule(program, *base));
  EXPECT_EQ(UnmatchedCycles(program, in_hbm, match), 40);
  EXPECT_EQ(match.report.unmatched_in_other(), 2);
  EXPECT_EQ(match.report.unmatched_in_other_cycles(), 12);
}

TEST(Match, LoopMarkersMatchBeginWithBegin) {
  const std::string text = testing::LoopModule(3, "%state = f32[8] negate(%x)");
  const auto base = MustAnalyze(text);
  const auto other = MustAnalyze(absl::StrReplaceAll(text, {{"%w", "%loop"}}));
  const Match match = MatchModule(ProgramOf(*base), *other);
  for (size_t i = 0; i < base->priced.size(); ++i) EXPECT_EQ(match.other_of_base[i], i);
}

TEST(Signature, LeavesNamesAndMemoriesOut) {
  const auto signature = [](const std::string& line) {
    const auto m = MustAnalyze(Compile(line));
    return Signatures(*m).Of(m->priced.back());
  };
  const std::string one = signature("ROOT %x = f32[64]{0} slice(%a), slice={[0:64]}");
  EXPECT_EQ(one, signature("ROOT %y = f32[64]{0:S(3)} slice(%a), slice={[0:64]}, "
                           "metadata={op_name=\"q\"}"));
  EXPECT_NE(one, signature("ROOT %x = f32[64]{0} slice(%a), slice={[1:64]}"));
  EXPECT_NE(one, signature("ROOT %x = f32[32]{0} slice(%a), slice={[0:64]}"));
}

TEST(Signature, LooksIntoFusions) {
  const auto signature = [](const std::string& opcode) {
    const auto m = MustAnalyze(hlo::EntryModule(
        "%a = f32[64] parameter(0)\nROOT %x = f32[64] fusion(%a), kind=kLoop, calls=%f",
        absl::StrCat("%f (p: f32[64]) -> f32[64] {\n%p = f32[64] parameter(0)\nROOT %n = f32[64] ",
                     opcode, "(%p)\n}\n")));
    return Signatures(*m).Of(m->priced.back());
  };
  EXPECT_EQ(signature("negate"), signature("negate"));
  EXPECT_NE(signature("negate"), signature("abs"));
}

TEST(Signature, TellsKernelsOfOtherFlopsApart) {
  const auto signature = [](int flops) {
    const auto m = MustAnalyze(Compile(
        absl::StrCat("ROOT %x = f32[64] custom-call(%a), custom_call_target=\"tpu_custom_call\", "
                     R"(backend_config={"custom_call_config":{"cost_estimate":{"flops":")",
                     flops, R"("}}})")));
    return Signatures(*m).Of(m->priced.back());
  };
  EXPECT_EQ(signature(100), signature(100));
  EXPECT_NE(signature(100), signature(200));
}

// Each of `levels` computations calls the one below it ten times; the lowest contains `opcode`.
std::string FusionTower(int levels, const std::string& opcode) {
  std::string callees =
      absl::StrCat("%f0 (p: f32[8]) -> f32[8] {\n%p = f32[8] parameter(0)\nROOT %n = f32[8] ",
                   opcode, "(%p)\n}\n");
  for (int level = 1; level <= levels; ++level) {
    absl::StrAppend(&callees, "%f", level, " (p: f32[8]) -> f32[8] {\n%p = f32[8] parameter(0)\n");
    for (int call = 0; call < 10; ++call) {
      absl::StrAppend(&callees, call == 9 ? "ROOT " : "", "%x", call,
                      " = f32[8] fusion(%p), kind=kLoop, calls=%f", level - 1, "\n");
    }
    callees += "}\n";
  }
  return hlo::EntryModule(absl::StrCat("%a = f32[8] parameter(0)\n"
                                       "ROOT %x = f32[8] fusion(%a), kind=kLoop, calls=%f",
                                       levels),
                          callees);
}

// There are 10^40 paths through the 40 computations.
TEST(Signature, LooksAtEachComputationOnce) {
  const auto signature = [](const std::string& opcode) {
    const auto m = MustAnalyze(FusionTower(40, opcode));
    return Signatures(*m).Of(m->priced.back());
  };
  EXPECT_EQ(signature("negate").size(), 32);
  EXPECT_EQ(signature("negate"), signature("negate"));
  EXPECT_NE(signature("negate"), signature("abs"));
}

TEST(ReadPlacement, FastAccessesAreThoseInFastMemory) {
  const auto base = MustAnalyze(Compile(kBase), {}, "all_hbm.hlo");
  const v1::Program program = ProgramOf(*base);
  const auto other = MustAnalyze(Compile(absl::StrCat("%x = f32[64]{0:S(3)} negate(%a)", Cycles(11),
                                                      "\n%y = f32[64]{0:S(3)} negate(%x)\n"
                                                      "ROOT %z = f32[64] add(%x, %y)")),
                                 {}, "somewhere/sample_1.hlo");
  const Placement placement = ReadPlacement(program, *other, MatchModule(program, *other));
  EXPECT_EQ(placement.name, "sample_1.hlo");
  ASSERT_EQ(placement.instructions.size(), 3);
  EXPECT_EQ(placement.instructions[0]->fast_accesses, 0b10);  // writes x
  EXPECT_EQ(placement.instructions[0]->cycles, 11);
  EXPECT_EQ(placement.instructions[1]->fast_accesses, 0b11);  // reads x, writes y
  EXPECT_FALSE(placement.instructions[1]->cycles.has_value());
  EXPECT_EQ(placement.instructions[2]->fast_accesses, 0b11);  // reads x and y, writes to HBM
}

TEST(ReadPlacement, InstructionsThatTheCompileLacksAreMissing) {
  const auto base = MustAnalyze(Compile(kBase));
  const v1::Program program = ProgramOf(*base);
  const auto other = MustAnalyze(Compile("%x = f32[64]{0} negate(%a)\nROOT %v = f32[64] abs(%x)"));
  const Placement placement = ReadPlacement(program, *other, MatchModule(program, *other));
  EXPECT_TRUE(placement.instructions[0].has_value());
  EXPECT_FALSE(placement.instructions[1].has_value());
  EXPECT_FALSE(placement.instructions[2].has_value());
}

}  // namespace
}  // namespace mallocmuzero
