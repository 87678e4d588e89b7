#include "simulator/import/latency/latency_fit.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/latency_table.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/import/latency/calibrate.h"
#include "simulator/import/structure/assemble.h"
#include "simulator/import/testing/modules.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MustAnalyze;
using testing::ProgramBuilder;
using testing::Read;
using ::testing::SizeIs;
using testing::SmallHardware;
using testing::Write;

using Set = uint64_t;

// One placement of the whole program: for each instruction the set of accesses in fast memory, and
// the cycles. Cycles below 0 mean that there is no estimate.
Placement MakePlacement(const std::vector<std::pair<Set, double>>& observed) {
  Placement placement{.name = "sample"};
  for (const auto& [set, cycles] : observed) {
    InstructionPlacement placed{.fast_accesses = set};
    if (cycles >= 0) placed.cycles = cycles;
    placement.instructions.push_back(placed);
  }
  return placement;
}

// Puts every instruction into a class of its own, with 0 flops and no traffic between chips.
LatencyClasses OwnClasses(const v1::Program& program) {
  LatencyClasses classes;
  for (int i = 0; i < program.instructions_size(); ++i) {
    classes.class_of.push_back(i);
    classes.representative.push_back(i);
    classes.flops.push_back(0);
    classes.link_bytes.push_back(0);
  }
  return classes;
}

// The fitted table's cycles for sets of the program's accesses.
class Fitted {
 public:
  Fitted(v1::Program program, const LatencyClasses& classes,
         const std::vector<Placement>& placements, int left_out = -1)
      : proto_(*FitLatencyTable(program, classes, placements, left_out)),
        program_(*Program::FromProto(std::move(program))) {
    auto table = LatencyTable::FromProto(proto_, program_.instructions(), program_.accesses(),
                                         program_.hardware());
    EXPECT_TRUE(table.ok()) << table.status();
    table_ = *std::move(table);
  }

  double operator()(InstructionIndex instruction, Set set) const {
    return table_.Cycles(instruction, set);
  }
  const v1::LatencyTable& proto() const { return proto_; }

 private:
  v1::LatencyTable proto_;
  Program program_;
  LatencyTable table_;
};

// One instruction that reads buffers of 100, 200 and 400 bytes, which take 10, 20 and 40 cycles in
// HBM.
v1::Program ThreeReads() {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(100, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(200, {.live_in = true});
  const BufferIndex c = builder.AddBuffer(400, {.live_in = true});
  builder.AddInstruction(100, {Read(a), Read(b), Read(c)});
  return builder.BuildProto();
}

TEST(LatencyFit, WhatWasObservedIsExact) {
  const v1::Program program = ThreeReads();
  const Fitted fitted(program, OwnClasses(program),
                      {MakePlacement({{0, 100}}), MakePlacement({{0b001, 93}}),
                       MakePlacement({{0b110, 71}}), MakePlacement({{0b111, 80}})});
  EXPECT_EQ(fitted(0, 0b000), 100);
  EXPECT_EQ(fitted(0, 0b001), 93);
  EXPECT_EQ(fitted(0, 0b110), 71);
  EXPECT_EQ(fitted(0, 0b111), 80);
}

// A regression on all sets would take ten minutes and a gigabyte.
TEST(LatencyFit, SavingsAreFittedToSomeOfManySets) {
  constexpr int kSets = 12000;  // of 14 accesses
  ProgramBuilder builder;
  std::vector<testing::AccessSpec> reads;
  for (int k = 0; k < 14; ++k) reads.push_back(Read(builder.AddBuffer(100, {.live_in = true})));
  std::vector<std::pair<Set, double>> all_hbm;
  std::vector<std::pair<Set, double>> sample;
  for (int set = 0; set < kSets; ++set) {
    builder.AddInstruction(200, reads);
    all_hbm.emplace_back(0, 200);
    // Access k saves k cycles.
    double cycles = 200;
    for (int k = 0; k < 14; ++k) cycles -= (set >> k & 1) * k;
    sample.emplace_back(set, cycles);
  }
  const v1::Program program = builder.BuildProto();
  const LatencyClasses one_class = {.class_of = std::vector<uint32_t>(kSets, 0),
                                    .representative = {0},
                                    .flops = {0},
                                    .link_bytes = {0}};
  const std::vector<Placement> placements = {MakePlacement(all_hbm), MakePlacement(sample)};
  const v1::LatencyTable table = *FitLatencyTable(program, one_class, placements, -1);
  EXPECT_EQ(table.classes(0).observed_size(), kSets);
  ASSERT_EQ(table.classes(0).savings_cycles_size(), 14);
  for (int k = 0; k < 14; ++k) EXPECT_NEAR(table.classes(0).savings_cycles(k), k, 0.1);
}

TEST(LatencyFit, SavingsAddUpBetweenWhatWasObserved) {
  const v1::Program program = ThreeReads();
  // Each access saves exactly the cycles of its traffic in HBM, as the fit expects.
  const Fitted fitted(program, OwnClasses(program),
                      {MakePlacement({{0, 100}}), MakePlacement({{0b001, 90}}),
                       MakePlacement({{0b010, 80}}), MakePlacement({{0b100, 60}})});
  EXPECT_NEAR(fitted(0, 0b011), 100 - 10 - 20, 1e-9);
  EXPECT_NEAR(fitted(0, 0b101), 60, 1e-9);  // 50 by the savings, but no estimate was below 60
}

TEST(LatencyFit, SlowerThanAllHbmIsPossibleUpToWhatWasObserved) {
  const v1::Program program = ThreeReads();
  const Fitted fitted(
      program, OwnClasses(program),
      {MakePlacement({{0, 100}}), MakePlacement({{0b001, 120}}), MakePlacement({{0b010, 130}})});
  EXPECT_EQ(fitted(0, 0b011), 130);
  EXPECT_EQ(fitted.proto().classes(0).ceiling_cycles(), 130);
}

TEST(LatencyFit, AnAccessNeverSeenSavesTheUsualShare) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(100, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(100, {.live_in = true});
  builder.AddInstruction(50, {Read(a)});
  builder.AddInstruction(50, {Read(b)});
  const v1::Program program = builder.BuildProto();
  // The first instruction saves 6 of its 10 HBM cycles; the second was never in fast memory.
  const Fitted fitted(program, OwnClasses(program),
                      {MakePlacement({{0, 50}, {0, 50}}), MakePlacement({{1, 44}, {0, 50}})});
  EXPECT_NEAR(fitted(0, 1), 44, 1e-9);
  EXPECT_NEAR(fitted(1, 1), 44, 1e-9);
}

TEST(LatencyFit, AWriteNeverSeenSavesLessThanARead) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(100, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(100, {.live_out = true});
  builder.AddInstruction(50, {Read(a)});
  builder.AddInstruction(50, {Write(b)});
  const v1::Program program = builder.BuildProto();
  const Fitted fitted(program, OwnClasses(program),
                      {MakePlacement({{0, 50}, {0, 50}}), MakePlacement({{1, 45}, {0, 50}})});
  EXPECT_LT(fitted(1, 1), 50);
  EXPECT_GT(fitted(1, 1), 47.5);
}

TEST(LatencyFit, ACopySavesAsMuchByItsWriteAsByItsRead) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(100, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(100, {.live_out = true});
  builder.AddInstruction(50, {Read(a), Write(b)});
  v1::Program program = builder.BuildProto();
  program.mutable_instructions(0)->set_opcode("copy");
  SealProgram(program);
  const Fitted fitted(program, OwnClasses(program),
                      {MakePlacement({{0, 50}}), MakePlacement({{0b11, 30}})});
  EXPECT_NEAR(fitted(0, 0b01), 40, 1e-9);
  EXPECT_NEAR(fitted(0, 0b10), 40, 1e-9);
}

TEST(LatencyFit, NothingIsFasterThanItsArithmetic) {
  const v1::Program program = ThreeReads();
  LatencyClasses classes = OwnClasses(program);
  classes.flops[0] = 85'000;  // 85 cycles
  const Fitted fitted(program, classes, {MakePlacement({{0, 100}}), MakePlacement({{0b001, 90}})});
  EXPECT_NEAR(fitted(0, 0b111), 85, 1e-9);
}

TEST(LatencyFit, WithoutAnEstimateTheRooflineRules) {
  const v1::Program program = ThreeReads();
  const Fitted fitted(program, OwnClasses(program), {MakePlacement({{0, -1}})});
  EXPECT_TRUE(fitted.proto().classes(0).modelled());
  EXPECT_NEAR(fitted(0, 0), 70, 1e-9);  // 700 bytes at 10 a cycle
}

TEST(LatencyFit, ACollectiveWithoutAnEstimateTakesAtLeastTheTimeOfTheLinks) {
  v1::Program program = ThreeReads();
  program.mutable_hardware()->set_link_bytes_per_cycle(5);
  SealProgram(program);
  LatencyClasses classes = OwnClasses(program);
  classes.link_bytes[0] = 200;  // 40 cycles
  const Fitted fitted(program, classes, {MakePlacement({{0, -1}})});
  EXPECT_EQ(fitted.proto().classes(0).link_cycles(), 40);
  EXPECT_NEAR(fitted(0, 0), 70, 1e-9);      // 700 bytes at 10 a cycle
  EXPECT_NEAR(fitted(0, 0b111), 40, 1e-9);  // fast memory alone would take 7
}

// Two instructions of one class, each of which reads one buffer of 100 bytes.
struct Twins {
  v1::Program program;
  LatencyClasses classes;
};

Twins MakeTwins() {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(100, {.live_in = true});
  builder.AddInstruction(50, {Read(a)});
  builder.AddInstruction(50, {Read(a)});
  return {builder.BuildProto(),
          {.class_of = {0, 0}, .representative = {0}, .flops = {0}, .link_bytes = {0}}};
}

TEST(LatencyFit, WhatWasSeenOfOneHoldsForItsLike) {
  const Twins twins = MakeTwins();
  const Fitted fitted(twins.program, twins.classes,
                      {MakePlacement({{0, 50}, {0, 50}}), MakePlacement({{1, 43}, {0, 50}})});
  EXPECT_EQ(fitted(1, 1), 43);
  EXPECT_EQ(fitted.proto().classes(0).members(), 2);
  EXPECT_THAT(fitted.proto().instructions(1).exceptions(), IsEmpty());
}

TEST(LatencyFit, AMemberThatDiffersKeepsItsOwnEstimate) {
  const Twins twins = MakeTwins();
  const Fitted fitted(twins.program, twins.classes,
                      {MakePlacement({{0, 50}, {0, 54}}), MakePlacement({{1, 43}, {1, 43}})});
  EXPECT_EQ(fitted(0, 0), 50);
  EXPECT_EQ(fitted(1, 0), 54);
  EXPECT_EQ(fitted(0, 1), 43);
  EXPECT_THAT(fitted.proto().instructions(0).exceptions(), SizeIs(1));
  ASSERT_EQ(fitted.proto().classes(0).observed_size(), 2);
  EXPECT_EQ(fitted.proto().classes(0).observed(0).cycles(), 52);  // the mean
}

TEST(LatencyFit, ThePlacementLeftOutIsNotSeen) {
  const v1::Program program = ThreeReads();
  const std::vector<Placement> placements = {MakePlacement({{0, 100}}), MakePlacement({{1, 90}}),
                                             MakePlacement({{1, 70}})};
  EXPECT_EQ(Fitted(program, OwnClasses(program), placements)(0, 1), 80);
  EXPECT_EQ(Fitted(program, OwnClasses(program), placements, 2)(0, 1), 90);
  EXPECT_EQ(Fitted(program, OwnClasses(program), placements, 1)(0, 1), 70);
}

TEST(Classify, InstructionsAlikeShareAClass) {
  const auto m = MustAnalyze(hlo::EntryModule(
      "%a = f32[64] parameter(0)\n%b = f32[64] parameter(1)\n%x = f32[64] add(%a, %b)\n"
      "%y = f32[64] add(%x, %b)\n%z = f32[64] add(%y, %y)\n%u = f32[64] multiply(%z, %x)\n"
      "%v = f32[8] slice(%u), slice={[0:8]}\nROOT %w = f32[8] slice(%u), slice={[8:16]}"));
  const v1::Program program = Assemble(*m, SmallHardware()).program;
  const LatencyClasses classes = ClassifyInstructions(program, *m);
  // z reads one buffer twice, which makes one access less. The slices differ in the range that they
  // cut out.
  EXPECT_THAT(classes.class_of, ElementsAre(0, 0, 1, 2, 3, 4));
  EXPECT_THAT(classes.representative, ElementsAre(0, 2, 3, 4, 5));
  EXPECT_THAT(classes.flops, ElementsAre(64, 64, 64, 0, 0));
}

// 1000 fusions of one computation whose text is about 200 kB; half of them are of one kind, half of
// another.
TEST(Classify, FusionsOfOneLargeComputationShareWhatItIs) {
  std::string fused = "%f (p: f32[8]) -> f32[8] {\n%n0 = f32[8] parameter(0)\n";
  for (int i = 1; i <= 6000; ++i) {
    absl::StrAppend(&fused, i == 6000 ? "ROOT " : "", "%n", i, " = f32[8] negate(%n", i - 1, ")\n");
  }
  std::string lines = "%x0 = f32[8] parameter(0)\n";
  for (int i = 1; i <= 1000; ++i) {
    absl::StrAppend(&lines, i == 1000 ? "ROOT " : "", "%x", i, " = f32[8] fusion(%x", i - 1,
                    "), kind=", i <= 500 ? "kLoop" : "kOutput", ", calls=%f\n");
  }
  const auto m = MustAnalyze(hlo::EntryModule(lines, fused + "}\n"));
  const v1::Program program = Assemble(*m, SmallHardware()).program;
  const LatencyClasses classes = ClassifyInstructions(program, *m);
  // The last fusion is the root and therefore a class of its own.
  EXPECT_THAT(classes.representative, ElementsAre(0, 500, 999));
  EXPECT_EQ(classes.flops[0], 6000 * 8);
}

TEST(Calibrate, AProgramWhoseSavingsAddUpIsPredictedExactly) {
  ProgramBuilder builder;
  for (int64_t i = 0; i < 6; ++i) {
    const BufferIndex a = builder.AddBuffer(16 * (i + 1), {.live_in = true});
    const BufferIndex b = builder.AddBuffer(48 * (i + 1), {.live_in = true});
    builder.AddInstruction(100, {Read(a), Read(b)});
  }
  const v1::Program program = builder.BuildProto();
  std::vector<Placement> placements;
  for (int p = 0; p < 5; ++p) {
    std::vector<std::pair<Set, double>> observed;
    for (int i = 0; i < 6; ++i) {
      // Every access saves exactly its HBM time. Two placements have everything in fast memory, so
      // that leaving one out keeps the lowest estimate.
      const Set set = p == 0 ? 0 : p <= 2 ? 3 : static_cast<Set>(1 + (p + i) % 2);
      const double saved = 1.6 * (i + 1) * (set & 1 ? 1 : 0) + 4.8 * (i + 1) * (set & 2 ? 1 : 0);
      observed.push_back({set, 100 - saved});
    }
    placements.push_back(MakePlacement(observed));
  }
  const auto calibration = Calibrate(program, OwnClasses(program), placements);
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  EXPECT_EQ(calibration->placements_size(), 4);
  EXPECT_NEAR(calibration->worst_total_error(), 0, 1e-9);
  EXPECT_NEAR(calibration->instruction_error(), 0, 1e-9);
}

TEST(Calibrate, CountsErrorsByHand) {
  const Twins twins = MakeTwins();
  // If {1: 45, 0: 50} is left out, it is predicted as {44, 50}; if {1: 44, 0: 50} is left out, as
  // {45, 50}.
  const auto calibration = Calibrate(
      twins.program, twins.classes,
      std::vector<Placement>{MakePlacement({{0, 50}, {0, 50}}), MakePlacement({{1, 45}, {0, 50}}),
                             MakePlacement({{1, 44}, {0, 50}})});
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  ASSERT_EQ(calibration->placements_size(), 2);
  EXPECT_NEAR(calibration->placements(0).compiled_cycles(), 95, 1e-9);
  EXPECT_NEAR(calibration->placements(0).predicted_cycles(), 94, 1e-9);
  EXPECT_NEAR(calibration->placements(1).absolute_error_cycles(), 1, 1e-9);
  EXPECT_NEAR(calibration->worst_total_error(), 1.0 / 94, 1e-9);
  EXPECT_NEAR(calibration->median_total_error(), (1.0 / 94 + 1.0 / 95) / 2, 1e-9);
  EXPECT_NEAR(calibration->instruction_error(), 2.0 / (94 + 95), 1e-9);
}

// Without the only estimate, the roofline predicts 100 bytes written to fast memory at 50 a cycle.
TEST(Calibrate, TheRooflineKnowsReadsFromWrites) {
  ProgramBuilder builder;
  builder.AddInstruction(10, {Write(builder.AddBuffer(100))});
  const v1::Program program = builder.BuildProto();
  const auto calibration =
      Calibrate(program, OwnClasses(program),
                std::vector<Placement>{MakePlacement({{0, -1}}), MakePlacement({{1, 4}})});
  ASSERT_TRUE(calibration.ok()) << calibration.status();
  ASSERT_EQ(calibration->placements_size(), 1);
  EXPECT_NEAR(calibration->placements(0).predicted_cycles(), 2, 1e-9);
}

TEST(Calibrate, EndsBetweenTwoClassesWhenItIsStopped) {
  const v1::Program program = ThreeReads();
  const std::vector<Placement> placements = {MakePlacement({{0, 100}}), MakePlacement({{1, 90}}),
                                             MakePlacement({{2, 80}})};
  // Two fits, each of one class.
  for (const int answers : {0, 1, 2}) {
    int asked = 0;
    const auto calibration = Calibrate(program, OwnClasses(program), placements,
                                       [&asked, answers] { return ++asked > answers; });
    EXPECT_EQ(absl::IsCancelled(calibration.status()), answers < 2) << answers;
  }
}

TEST(Calibrate, OnePlacementAloneSaysNothing) {
  const Twins twins = MakeTwins();
  const auto calibration = Calibrate(twins.program, twins.classes,
                                     std::vector<Placement>{MakePlacement({{0, 50}, {0, 50}})});
  ASSERT_TRUE(calibration.ok());
  EXPECT_THAT(calibration->placements(), IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero
