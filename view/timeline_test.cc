// Positions worked out by hand on the chip of SmallHardware: 10 bytes of HBM bandwidth a cycle.

#include "view/timeline.h"

#include "base/testing/index_matching.h"
#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero::view {
namespace {

using ::mallocmuzero::testing::ProgramBuilder;
using ::mallocmuzero::testing::Read;

Interval CopyIn(BufferIndex buffer, InstructionIndex start, InstructionIndex done) {
  return {
      .buffer = buffer, .first = start, .last = done, .copy_in_start = start, .copy_in_done = done};
}

// 10 cycles move 100 of 150 bytes. Instruction 1 waits 5 cycles for the others, then 8 for the 80
// bytes that are queued and needed there. Instruction 1 takes 20 cycles.
class TwoWaits : public ::testing::Test {
 protected:
  TwoWaits()
      : mapping_{{CopyIn(builder_.AddBuffer(150, {.live_in = true}), 0, 1),
                  CopyIn(builder_.AddBuffer(80, {.live_in = true}), 1, 1)},
                 {1, 1},
                 "test"} {
    builder_.AddInstruction(10);
    builder_.AddInstruction(20, {Read(0), Read(1)});
  }

  ProgramBuilder builder_;
  Mapping mapping_;
};

TEST_F(TwoWaits, WaitsStandBeforeTheInstruction) {
  const Program program = builder_.Build();
  const Timeline timeline(program, SimulateTrace(program, mapping_), Axis::kCycles);
  EXPECT_EQ(timeline.Reached(0), 0);
  EXPECT_EQ(timeline.Running(0), 0);
  EXPECT_EQ(timeline.Reached(1), 10);
  EXPECT_EQ(timeline.Queueing(1), 15);
  EXPECT_EQ(timeline.Running(1), 23);
  EXPECT_EQ(timeline.Reached(2), 43);
  EXPECT_EQ(timeline.end(), 43);
  EXPECT_EQ(timeline.Done(0, 1), 15);
  EXPECT_EQ(timeline.Done(1, 1), 23);
}

TEST_F(TwoWaits, CopiesMoveInTheirTurn) {
  const Program program = builder_.Build();
  const Trace trace = SimulateTrace(program, mapping_);
  const Timeline timeline(program, trace, Axis::kCycles);
  EXPECT_EQ(timeline.Moving(trace.copies[0]).begin, 0);
  EXPECT_NEAR(timeline.Moving(trace.copies[0]).end, 15, 1e-6);
  EXPECT_EQ(timeline.Moving(trace.copies[1]).begin, 15);
  EXPECT_NEAR(timeline.Moving(trace.copies[1]).end, 23, 1e-6);
}

TEST_F(TwoWaits, InstructionsHaveWidthOneAndWaitsNone) {
  const Program program = builder_.Build();
  const Timeline timeline(program, SimulateTrace(program, mapping_), Axis::kInstructions);
  EXPECT_EQ(timeline.Running(0), 0);
  EXPECT_EQ(timeline.Reached(1), 1);
  EXPECT_EQ(timeline.Running(1), 1);
  EXPECT_EQ(timeline.end(), 2);
}

TEST(Timeline, CopyThatNeedsLessThanIsLeftEndsBeforeTheInstruction) {
  // 100 cycles leave 1000 bytes, of which the first copy needs 250: it is done after a quarter of
  // the time. The second copy then moves, and needs another quarter.
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(250, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(250, {.live_in = true});
  builder.AddInstruction(100);
  builder.AddInstruction(10, {Read(a), Read(b)});
  const Program program = builder.Build();
  const Trace trace = SimulateTrace(program, {{CopyIn(a, 0, 1), CopyIn(b, 0, 1)}, {1, 1}, "test"});
  const Timeline timeline(program, trace, Axis::kCycles);
  EXPECT_NEAR(timeline.Moving(trace.copies[0]).end, 25, 1e-6);
  EXPECT_NEAR(timeline.Moving(trace.copies[1]).begin, 25, 1e-6);
  EXPECT_NEAR(timeline.Moving(trace.copies[1]).end, 50, 1e-6);
}

TEST(Timeline, LoopBodyIsAsWideAsAllItsPasses) {
  // 5 cycles, then 3 times 7 with a wait of 4 cycles, then 2.
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(40, {.live_in = true});
  builder.AddInstruction(5);
  builder.BeginLoop(3);                        // instruction 1
  builder.AddInstruction(7, {Read(weights)});  // instruction 2
  builder.EndLoop();                           // instruction 3
  builder.AddInstruction(2);                   // instruction 4
  const Program program = builder.Build();
  const Timeline timeline(program, SimulateTrace(program, {{CopyIn(weights, 2, 2)}, {1}, "test"}),
                          Axis::kCycles);
  EXPECT_EQ(timeline.Reached(2), 5);
  EXPECT_EQ(timeline.Running(2), 5 + 3 * 4);
  EXPECT_EQ(timeline.Running(3), 5 + 3 * 11);
  EXPECT_EQ(timeline.end(), 5 + 3 * 11 + 2);
}

}  // namespace
}  // namespace mallocmuzero::view
