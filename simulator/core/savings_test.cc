#include "simulator/core/savings.h"

#include <cstdint>
#include <utility>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

// 100 cycles that accesses reduce by 10 and 30, but not below 70, and 50 cycles.
Program TwoInstructions() {
  ProgramBuilder builder;
  const BufferIndex x = builder.AddBuffer(16, {.live_in = true});
  const BufferIndex y = builder.AddBuffer(16);
  builder.AddInstruction(100, {Read(x, 10), Write(y, 30)});
  builder.AddInstruction(50, {Read(y, 20)});
  v1::Program proto = builder.BuildProto();
  proto.mutable_latency()->mutable_classes(0)->set_floor_cycles(70);
  SealProgram(proto);
  return *Program::FromProto(std::move(proto));
}

TEST(Savings, DependOnTheOtherAccessesOfTheInstruction) {
  const Program program = TwoInstructions();
  EXPECT_THAT(FindSavings(program), ElementsAre(10, 30, 20));
  EXPECT_THAT(FindLastSavings(program), ElementsAre(0, 20, 20));  // 90 and 70, not 60
  EXPECT_EQ(SavingAmong(program, 0, 1, 0b01), 20);
  EXPECT_EQ(SavingAmong(program, 0, 1, 0b11), 20);  // its own bit is ignored
}

TEST(Savings, CyclesBeforeEndWithAllCycles) {
  EXPECT_THAT(CyclesBefore(TwoInstructions()), ElementsAre(0, 100, 150));
}

TEST(Savings, AnInstructionInALoopSavesInEveryPass) {
  ProgramBuilder builder;
  const BufferIndex x = builder.AddBuffer(16, {.live_in = true});
  builder.BeginLoop(3);
  builder.AddInstruction(50, {Read(x, 20)});
  builder.EndLoop();
  const Program program = builder.Build();
  EXPECT_THAT(FindSavings(program), ElementsAre(3 * 20));
  EXPECT_THAT(FindLastSavings(program), ElementsAre(3 * 20));
  EXPECT_THAT(CyclesBefore(program), ElementsAre(0, 0, 3 * 50, 3 * 50));
}

TEST(Savings, TheUnitOfDensitiesIsThatOfAllGainsInAllOfTheMemory) {
  const Program program = TwoInstructions();  // 1024 bytes
  const IndexVector<AccessIndex, double> savings = {6, -5, 2};
  EXPECT_DOUBLE_EQ(SavingsDensityUnit(program, savings, 40), 8.0 / (1024 * 40));
  EXPECT_DOUBLE_EQ(SavingsDensityUnit(program, savings, 0), 8.0 / 1024);  // at least one cycle
}

}  // namespace
}  // namespace mallocmuzero
