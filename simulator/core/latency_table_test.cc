#include "simulator/core/latency_table.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/program.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::mallocmuzero::testing::ProgramBuilder;
using ::mallocmuzero::testing::Read;
using ::mallocmuzero::testing::Update;
using ::mallocmuzero::testing::Write;
using ::testing::HasSubstr;

// One instruction of 100 cycles with three accesses that save 30, -5 (slower in fast memory)
// and 40.
struct ThreeAccesses {
  ThreeAccesses() {
    for (int b = 0; b < 3; ++b) builder.AddBuffer(100, {.live_in = true});
    instruction = builder.AddInstruction(100, {Read(0, 30), Read(1, -5), Write(2, 40)});
  }
  ProgramBuilder builder;
  InstructionIndex instruction;
};

TEST(LatencyTable, SubtractsSavingsOfAccessesInFastMemory) {
  const Program program = ThreeAccesses().builder.Build();
  EXPECT_EQ(program.latency().Cycles(0, 0b000), 100);
  EXPECT_EQ(program.latency().Cycles(0, 0b001), 70);
  EXPECT_EQ(program.latency().Cycles(0, 0b101), 30);
}

TEST(LatencyTable, NegativeSavingMakesItSlower) {
  const Program program = ThreeAccesses().builder.Build();
  EXPECT_EQ(program.latency().Cycles(0, 0b010), 105);
  EXPECT_EQ(program.latency().Cycles(0, 0b111), 35);
}

TEST(LatencyTable, PairsInFastMemorySaveBeyondWhatEachSaves) {
  v1::Program proto = ThreeAccesses().builder.BuildProto();
  // Savings of the pairs (0, 1), (0, 2) and (1, 2).
  for (const double saving : {2.0, -20.0, 3.0}) {
    proto.mutable_latency()->mutable_classes(0)->add_pair_savings_cycles(saving);
  }
  SealProgram(proto);
  const absl::StatusOr<Program> program = Program::FromProto(proto);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->latency().Cycles(0, 0b001), 70);
  EXPECT_EQ(program->latency().Cycles(0, 0b011), 100 - 30 + 5 - 2);
  EXPECT_EQ(program->latency().Cycles(0, 0b101), 100 - 30 - 40 + 20);
  EXPECT_EQ(program->latency().Cycles(0, 0b110), 100 + 5 - 40 - 3);
  EXPECT_EQ(program->latency().Cycles(0, 0b111), 100 - 30 + 5 - 40 - 2 + 20 - 3);
}

TEST(LatencyTable, FormulaStaysBetweenFloorAndCeiling) {
  ThreeAccesses three;
  three.builder.SetBounds(0, 50, 102);
  const Program program = three.builder.Build();
  EXPECT_EQ(program.latency().Cycles(0, 0b101), 50);   // by the formula it would be 30
  EXPECT_EQ(program.latency().Cycles(0, 0b010), 102);  // by the formula it would be 105
  EXPECT_EQ(program.latency().Cycles(0, 0b100), 60);
}

TEST(LatencyTable, ObservedSetWinsOverFormulaAndBounds) {
  ThreeAccesses three;
  three.builder.SetBounds(0, 50, 102).AddObserved(0, 0, 99).AddObserved(0, 0b101, 20);
  const Program program = three.builder.Build();
  EXPECT_EQ(program.latency().Cycles(0, 0b000), 99);
  EXPECT_EQ(program.latency().Cycles(0, 0b101), 20);
  EXPECT_EQ(program.latency().Cycles(0, 0b001), 70);
}

TEST(LatencyTable, ExceptionWinsOverItsClass) {
  // Two instructions of one class; only the second has an exception.
  ThreeAccesses three;
  three.builder.AddObserved(0, 0b001, 66);
  three.builder.AddInstruction(1, {Read(0), Read(1), Write(2)});
  three.builder.AddException(1, 0b001, 12);
  v1::Program proto = three.builder.BuildProto();
  proto.mutable_latency()->mutable_instructions(1)->set_latency_class(0);
  SealProgram(proto);
  const absl::StatusOr<Program> program = Program::FromProto(proto);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->latency().Cycles(0, 0b001), 66);
  EXPECT_EQ(program->latency().Cycles(1, 0b001), 12);
  EXPECT_EQ(program->latency().Cycles(1, 0b100), 60);
}

TEST(LatencyTable, RooflineFollowsComputeOrMemory) {
  // Rates: 10 bytes a cycle from HBM; fast memory reads 100 and writes 50 bytes a cycle; 1000 flops
  // a cycle. A read of 400 bytes, a write of 300, an update of 200 and 100 fixed bytes: 1000 / 10 =
  // 100 cycles in HBM.
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(400, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(300);
  const BufferIndex c = builder.AddBuffer(500, {.live_in = true});
  builder.SetFixedHbmBytes(builder.AddModelled(15000, {Read(a), Write(b), Update(c, 0, 200)}), 100);
  const Program program = builder.Build();
  const LatencyTable& latency = program.latency();
  EXPECT_DOUBLE_EQ(latency.Cycles(0, 0b000), 100);
  EXPECT_DOUBLE_EQ(latency.Cycles(0, 0b001), 60 + 4);          // 400 / 100
  EXPECT_DOUBLE_EQ(latency.Cycles(0, 0b010), 70 + 6);          // 300 / 50
  EXPECT_DOUBLE_EQ(latency.Cycles(0, 0b100), 80 + 1 + 2);      // 100 / 100 and 100 / 50
  EXPECT_DOUBLE_EQ(latency.Cycles(0, 0b111), 10 + 4 + 6 + 3);  // the fixed bytes stay in HBM
  EXPECT_DOUBLE_EQ(latency.Cycles(0, 0b011), 30 + 4 + 6);
}

TEST(LatencyTable, RooflineIsBoundByCompute) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(400, {.live_in = true});
  builder.AddModelled(15000, {Read(a)});
  const Program program = builder.Build();
  EXPECT_DOUBLE_EQ(program.latency().Cycles(0, 0), 40);
  EXPECT_DOUBLE_EQ(program.latency().Cycles(0, 1), 15);
}

TEST(LatencyTable, RooflineIsBoundByTheLinksOfACollective) {
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(400, {.live_in = true});
  builder.AddModelled(15000, {Read(a)});  // 15 cycles to compute, and 40 or 4 to read
  v1::Program proto = builder.BuildProto();
  proto.mutable_latency()->mutable_classes(0)->set_link_cycles(25);
  SealProgram(proto);
  const absl::StatusOr<Program> program = Program::FromProto(proto);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_DOUBLE_EQ(program->latency().Cycles(0, 0), 40);
  EXPECT_DOUBLE_EQ(program->latency().Cycles(0, 1), 25);
}

TEST(LatencyTable, InstructionWithManyAccessesFollowsTheSameRules) {
  // 64 accesses are too many to tabulate. Access k saves k cycles; the sum over all is 2016.
  ProgramBuilder builder;
  std::vector<testing::AccessSpec> accesses;
  accesses.reserve(64);
  for (int k = 0; k < 64; ++k) accesses.push_back(Read(builder.AddBuffer(1, {.live_in = true}), k));
  builder.AddInstruction(3000, accesses);
  builder.AddObserved(0, 0b11, 2500).AddObserved(0, uint64_t{1} << 63, 2000);
  builder.AddException(0, ~uint64_t{0}, 1);
  const Program program = builder.Build();
  const LatencyTable& latency = program.latency();
  EXPECT_EQ(latency.Cycles(0, 0), 3000);
  EXPECT_EQ(latency.Cycles(0, 0b11), 2500);
  EXPECT_EQ(latency.Cycles(0, 0b110), 2997);
  EXPECT_EQ(latency.Cycles(0, uint64_t{1} << 63), 2000);
  EXPECT_EQ(latency.Cycles(0, ~uint64_t{1}), 3000 - 2016);
  EXPECT_EQ(latency.Cycles(0, ~uint64_t{0}), 1);
}

// The error message for the table of a program after `change`.
template <typename Change>
std::string ErrorAfter(const Change& change) {
  ThreeAccesses three;
  three.builder.AddObserved(0, 0, 100).AddObserved(0, 1, 70);
  v1::Program proto = three.builder.BuildProto();
  change(*proto.mutable_latency());
  SealProgram(proto);
  return std::string(Program::FromProto(proto).status().message());
}

// The bounds hold for every set of accesses, with observations and pairs that break the formula.
void ExpectEnvelopeHolds(const Program& program) {
  const uint32_t count = program.access_count();
  const LatencyEnvelope envelope = program.latency().Envelope(0, count);
  ASSERT_EQ(envelope.savings.size(), count);
  for (uint64_t set = 0; set < uint64_t{1} << count; ++set) {
    double bound = envelope.base_cycles;
    for (uint32_t k = 0; k < count; ++k) bound -= (set >> k & 1) != 0 ? envelope.savings[k] : 0;
    const double cycles = program.latency().Cycles(0, set);
    EXPECT_GE(cycles + 1e-9, std::max(bound, envelope.least_cycles)) << set;
    EXPECT_LE(cycles, envelope.most_cycles) << set;
  }
}

TEST(LatencyTable, EnvelopeHoldsForEverySet) {
  for (const int count : {4, 9}) {  // tabulated, and by the formula
    ProgramBuilder builder;
    std::vector<testing::AccessSpec> accesses;
    for (int b = 0; b < count; ++b) {
      accesses.push_back(Read(builder.AddBuffer(100, {.live_in = true}), 10 * b - 8));
    }
    const InstructionIndex instruction = builder.AddInstruction(200, accesses);
    builder.SetBounds(instruction, 60, 220);
    builder.AddObserved(instruction, 0b0011, 40).AddObserved(instruction, 0b0110, 230);
    builder.AddException(instruction, 0b1000, 100);
    v1::Program proto = builder.BuildProto();
    for (int pair = 0; pair < count * (count - 1) / 2; ++pair) {
      proto.mutable_latency()->mutable_classes(0)->add_pair_savings_cycles(pair % 5 - 1);
    }
    SealProgram(proto);
    const absl::StatusOr<Program> program = Program::FromProto(proto);
    ASSERT_TRUE(program.ok()) << program.status();
    ExpectEnvelopeHolds(*program);
  }
}

// Without observations, only the formula widens the envelope.
TEST(LatencyTable, EnvelopeCountsLossesAndPairsOfTheFormula) {
  for (const int count : {4, 9}) {  // tabulated, and by the formula
    ProgramBuilder builder;
    std::vector<testing::AccessSpec> accesses;
    for (int b = 0; b < count; ++b) {
      accesses.push_back(Read(builder.AddBuffer(100, {.live_in = true}), b == 0 ? -7 : 1));
    }
    builder.SetBounds(builder.AddInstruction(200, accesses), 0, 1000);
    v1::Program proto = builder.BuildProto();
    for (int pair = 0; pair < count * (count - 1) / 2; ++pair) {
      proto.mutable_latency()->mutable_classes(0)->add_pair_savings_cycles(pair % 2 == 0 ? 3 : -2);
    }
    SealProgram(proto);
    const absl::StatusOr<Program> program = Program::FromProto(proto);
    ASSERT_TRUE(program.ok()) << program.status();
    ExpectEnvelopeHolds(*program);
  }
}

TEST(LatencyTable, EnvelopeHoldsForEverySetOfAModelledInstruction) {
  for (const int count : {4, 9}) {  // tabulated, and by the formula
    ProgramBuilder builder;
    std::vector<testing::AccessSpec> accesses;
    for (int b = 0; b < count; ++b) {
      accesses.push_back(Read(builder.AddBuffer(100, {.live_in = true})));
    }
    builder.AddModelled(1000, accesses);
    ExpectEnvelopeHolds(builder.Build());
  }
}

TEST(LatencyTable, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(ErrorAfter([](v1::LatencyTable& t) { t.clear_instructions(); }),
            "latency.instructions: 1 entries expected");
  EXPECT_EQ(
      ErrorAfter([](v1::LatencyTable& t) { t.mutable_instructions(0)->set_latency_class(1); }),
      "latency.instructions[0].latency_class: an index below 1 expected");
  EXPECT_EQ(ErrorAfter([](v1::LatencyTable& t) {
              t.mutable_classes(0)->mutable_observed(1)->set_fast_accesses(0b1000);
            }),
            "latency.classes[0].observed: bits of the accesses of instruction 0, which has 3 "
            "expected");
  EXPECT_EQ(ErrorAfter([](v1::LatencyTable& t) {
              t.mutable_instructions(0)->add_exceptions()->set_fast_accesses(0b1000);
            }),
            "latency.instructions[0].exceptions: bits of the instruction's own accesses expected");
  EXPECT_EQ(ErrorAfter([](v1::LatencyTable& t) {
              t.mutable_classes(0)->mutable_observed(1)->set_fast_accesses(0);
            }),
            "latency.classes[0].observed[1].fast_accesses: ascending order expected");
  EXPECT_EQ(ErrorAfter([](v1::LatencyTable& t) {
              t.mutable_classes(0)->mutable_observed(1)->set_cycles(-1);
            }),
            "latency.classes[0].observed[1].cycles: 0 to 2^53 expected");
  EXPECT_EQ(ErrorAfter([](v1::LatencyTable& t) { t.mutable_classes(0)->add_savings_cycles(1); }),
            "latency.classes[0].savings_cycles: one for each of the 3 accesses of instruction 0 "
            "expected");
  EXPECT_EQ(
      ErrorAfter([](v1::LatencyTable& t) { t.mutable_classes(0)->add_pair_savings_cycles(1); }),
      "latency.classes[0].pair_savings_cycles: none, or one for each of the 3 pairs of accesses of "
      "instruction 0 expected");
  EXPECT_EQ(ErrorAfter([](v1::LatencyTable& t) {
              for (const double saving : {1e300, 0.0, 0.0}) {
                t.mutable_classes(0)->add_pair_savings_cycles(saving);
              }
            }),
            "latency.classes[0].pair_savings_cycles[0]: -2^53 to 2^53 expected");
  EXPECT_EQ(ErrorAfter([](v1::LatencyTable& t) {
              t.mutable_classes(0)->set_floor_cycles(5);
              t.mutable_classes(0)->set_ceiling_cycles(4);
            }),
            "latency.classes[0].ceiling_cycles: floor_cycles to 2^53 expected");
  EXPECT_THAT(ErrorAfter([](v1::LatencyTable& t) {
                t.mutable_classes(0)->set_base_cycles(std::numeric_limits<double>::quiet_NaN());
              }),
              HasSubstr("base_cycles: a finite number expected, found nan"));
}

}  // namespace
}  // namespace mallocmuzero
