#include "simulator/core/links.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/mapping.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::mallocmuzero::testing::ProgramBuilder;
using ::mallocmuzero::testing::Read;
using ::mallocmuzero::testing::Write;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Three instructions of 10, 20 and 30 cycles.
ProgramBuilder ThreeInstructions() {
  ProgramBuilder builder;
  for (const double cycles : {10, 20, 30}) builder.AddInstruction(cycles);
  return builder;
}

std::vector<double> WaitsOf(const Program& program) {
  std::vector<double> waits;
  for (const TraceStep& step : SimulateTrace(program, AllHbmMapping(program)).steps) {
    waits.push_back(step.wait_for_collectives);
  }
  return waits;
}

// Access 0 reads the buffer in fast memory at instruction 1. Its copy begins at instruction 0.
Mapping WithCopyAtStart(const Program& program, BufferIndex buffer) {
  Mapping mapping = AllHbmMapping(program);
  mapping.in_fast_memory[0] = 1;
  mapping.intervals.push_back(
      {.buffer = buffer, .first = 0, .last = 1, .copy_in_start = 0, .copy_in_done = 1});
  return mapping;
}

TEST(Links, TheDoneWaitsForWhatTheInstructionsBetweenLeave) {
  ProgramBuilder builder = ThreeInstructions();
  builder.AddCollective(0, 2, 50);  // 10 + 20 cycles run meanwhile
  const Program program = builder.Build();
  const Price price = SimulateAllHbm(program);
  EXPECT_EQ(price.collective_stall_cycles, 20);
  EXPECT_EQ(price.stall_cycles, 20);
  EXPECT_EQ(price.total_cycles, 80);
  EXPECT_THAT(WaitsOf(program), ElementsAre(0, 0, 20, 0));
}

TEST(Links, ACollectiveThatIsHiddenCostsNothing) {
  ProgramBuilder builder = ThreeInstructions();
  builder.AddCollective(1, 3, 50);  // 20 + 30
  EXPECT_EQ(SimulateAllHbm(builder.Build()).total_cycles, 60);
}

TEST(Links, ACollectiveThatIsNeededAtOnceCostsAllOfIt) {
  ProgramBuilder builder = ThreeInstructions();
  builder.AddCollective(1, 1, 50);
  EXPECT_EQ(SimulateAllHbm(builder.Build()).total_cycles, 110);
}

TEST(Links, OneCollectiveAfterTheOther) {
  ProgramBuilder builder = ThreeInstructions();
  // The second begins when the first is done, after 15 cycles. It has 15 of its 40 cycles behind
  // instructions, so that the last instruction begins after 55 cycles instead of 30.
  builder.AddCollective(0, 2, 15).AddCollective(0, 2, 40);
  EXPECT_THAT(WaitsOf(builder.Build()), ElementsAre(0, 0, 25, 0));
}

TEST(Links, WaitsInLoopsCountInEveryPass) {
  ProgramBuilder builder;
  builder.BeginLoop(4);
  builder.AddInstruction(10);
  builder.AddInstruction(5);
  builder.EndLoop();
  builder.AddCollective(1, 2, 12);  // 2 cycles are left
  const Price price = SimulateAllHbm(builder.Build());
  EXPECT_EQ(price.stall_cycles, 8);
  EXPECT_EQ(price.total_cycles, 68);
}

TEST(Links, CopiesAndCollectivesMoveWhileTheProgramWaitsForTheOther) {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(400, {.live_in = true});  // 40 cycles
  builder.AddInstruction(10);
  builder.SetFixedHbmBytes(0, 100);  // leaves no bandwidth
  builder.AddInstruction(50, {Read(weights, 30)});
  builder.AddCollective(0, 1, 30);
  const Program program = builder.Build();
  const Mapping mapping = WithCopyAtStart(program, weights);
  // The collective is done after 30 cycles, the copy after 10 + 40.
  const Price price = Simulate(program, mapping);
  EXPECT_EQ(price.collective_stall_cycles, 20);
  EXPECT_EQ(price.stall_cycles, 40);
  EXPECT_EQ(price.total_cycles, 10 + 40 + 20);
  const Trace trace = SimulateTrace(program, mapping);
  EXPECT_EQ(trace.steps[1].WaitCycles(), 40);
  EXPECT_THAT(trace.steps[1].moved_after_collectives, ElementsAre(200, 0));
}

TEST(Links, ACollectiveRunsOnWhileTheProgramWaitsForACopy) {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(400, {.live_in = true});  // 40 cycles
  builder.SetFixedHbmBytes(builder.AddInstruction(10), 100);              // leaves no bandwidth
  builder.AddInstruction(50, {Read(weights, 30)});
  builder.AddInstruction(10);
  builder.AddCollective(0, 2, 70);
  const Program program = builder.Build();
  const Mapping mapping = WithCopyAtStart(program, weights);
  // The collective has its 70 cycles behind 10 cycles, the stall of 40, and 20 cycles.
  const Price price = Simulate(program, mapping);
  EXPECT_EQ(price.collective_stall_cycles, 0);
  EXPECT_EQ(price.total_cycles, 10 + 40 + 20 + 10);
}

TEST(Links, AnInstructionThatIsSlowerBehindACollectiveCostsNothing) {
  ProgramBuilder builder;
  const BufferIndex value = builder.AddBuffer(16);
  builder.SetBounds(builder.AddInstruction(10, {Write(value, -5)}), 0, 15);
  builder.AddInstruction(20, {Read(value)});
  builder.AddCollective(0, 1, 30);
  const Program program = builder.Build();
  Mapping mapping = AllHbmMapping(program);
  EXPECT_EQ(Simulate(program, mapping).total_cycles, 50);
  mapping.in_fast_memory[0] = 1;
  ASSERT_EQ(program.latency().Cycles(0, 1), 15);
  EXPECT_EQ(Simulate(program, mapping).total_cycles, 50);
}

TEST(Links, EventsAreInTheOrderOfTheirPoints) {
  ProgramBuilder builder = ThreeInstructions();
  builder.AddCollective(0, 2, 5).AddCollective(1, 1, 0).AddCollective(2, 3, 7);
  const Program program = builder.Build();  // the one of 0 cycles has no events
  std::vector<std::pair<int, double>> events;
  for (const LinkEvent& event : program.link_events()) {
    events.push_back({event.point.number(), event.started > 0 ? event.started : -event.end});
  }
  EXPECT_THAT(events,
              ElementsAre(std::pair(0, 5), std::pair(2, 7), std::pair(2, -5), std::pair(3, -12)));
}

TEST(Links, AProgramRefusesCollectivesThatCannotBe) {
  const auto error = [](uint32_t start, uint32_t done, double cycles) {
    ProgramBuilder builder = ThreeInstructions();
    builder.AddCollective(InstructionIndex(start), InstructionIndex(done), cycles);
    return std::string(Program::FromProto(builder.BuildProto()).status().message());
  };
  EXPECT_EQ(error(0, 3, 1), "");
  EXPECT_THAT(error(0, 4, 1), HasSubstr("collectives[0].done: 0 to 3 expected, found 4"));
  EXPECT_THAT(error(2, 1, 1), HasSubstr("collectives[0].start: 0 to 1 expected, found 2"));
  EXPECT_THAT(error(0, 1, -1), HasSubstr("collectives[0].cycles: 0 to 2^53 expected, found -1"));
}

}  // namespace
}  // namespace mallocmuzero
