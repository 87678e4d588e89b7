#include "view/lanes.h"

#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero::view {
namespace {

using testing::ProgramBuilder;
using testing::Read;

TEST(StayOf, IsCopiedUntilItsLastSliceIsDone) {
  // Instruction 0 takes 10 cycles, in which HBM moves the first 100 bytes. The other 200 are queued
  // just before instruction 1, which waits 20 cycles for them.
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(300, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(5, {Read(weights)});
  const Program program = builder.Build();
  const Interval sliced = {.buffer = weights,
                           .first = 0,
                           .last = 1,
                           .copy_in_start = 0,
                           .copy_in_done = 1,
                           .copy_in_slices = {{0, 100}, {1, 200}}};
  const Timeline timeline(program, SimulateTrace(program, {{sliced}, {1}, "test"}), Axis::kCycles);
  const Stay stay = StayOf(sliced, timeline);
  ASSERT_EQ(stay.copying.size(), 1);
  EXPECT_EQ(stay.copying[0].begin, 0);
  EXPECT_EQ(stay.copying[0].end, 30);
}

TEST(CopiesDuringCollectives, AreWhatIsLeftOfTheCopies) {
  // HBM moves 10 bytes a cycle. Instruction 0 hides 10 of the collective's 50 cycles, and 100 of
  // the copy's 300 bytes. The wait of 40 cycles moves the other 200 of at most 400 bytes.
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(300, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(5);
  builder.AddInstruction(5, {Read(weights)});
  builder.AddCollective(0, 1, 50);
  const Program program = builder.Build();
  const Interval copied = {
      .buffer = weights, .first = 0, .last = 2, .copy_in_start = 0, .copy_in_done = 2};
  const Trace trace = SimulateTrace(program, {{copied}, {1}, "test"});
  EXPECT_EQ(trace.steps[1].wait_for_collectives, 40);
  EXPECT_DOUBLE_EQ(CopiesDuringCollectives(trace.steps[0].moved, trace.steps[1], 10), 0.5);
  EXPECT_DOUBLE_EQ(CopiesDuringWait(trace.steps[0].moved, trace.steps[1], 10), 0.5);
  // without a wait
  EXPECT_EQ(CopiesDuringCollectives({0, 0}, trace.steps[0], 10), 0);
  EXPECT_EQ(CopiesDuringWait({0, 0}, trace.steps[0], 10), 0);
}

TEST(CopiesDuringWait, HaveTheWholeBandwidthInAWaitForACopy) {
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(300, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(5, {Read(weights)});
  const Program program = builder.Build();
  const Interval copied = {
      .buffer = weights, .first = 0, .last = 1, .copy_in_start = 0, .copy_in_done = 1};
  const Trace trace = SimulateTrace(program, {{copied}, {1}, "test"});
  EXPECT_EQ(trace.steps[1].WaitCycles(), 20);
  EXPECT_EQ(CopiesDuringWait(trace.steps[0].moved, trace.steps[1], 10), 1);
}

}  // namespace
}  // namespace mallocmuzero::view
