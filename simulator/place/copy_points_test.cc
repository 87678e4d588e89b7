#include "simulator/place/copy_points.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "simulator/core/mapping.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero::place {
namespace {

using testing::ProgramBuilder;
using testing::Read;

constexpr InstructionIndex kBegin = 1;
constexpr InstructionIndex kEnd = 4;

// 0: nothing   1: begin   2: read   3: read   4: end   5: read
Program InputOfALoop() {
  ProgramBuilder builder;
  const BufferIndex input = builder.AddBuffer(64, {.live_in = true});
  builder.AddInstruction(10);
  builder.BeginLoop(3);
  builder.AddInstruction(10, {Read(input)});
  builder.AddInstruction(10, {Read(input)});
  builder.EndLoop();
  builder.AddInstruction(10, {Read(input)});
  return builder.Build();
}

// The memories that the loop needs the input in, as {HBM, fast memory}.
std::pair<bool, bool> NeedsOfLoop(std::vector<Interval> intervals,
                                  IndexVector<AccessIndex, uint8_t> in_fast_memory) {
  const Program program = InputOfALoop();
  const Mapping mapping = {.intervals = std::move(intervals),
                           .in_fast_memory = std::move(in_fast_memory)};
  const CopyPoints::Needs needs =
      CopyPoints(program, mapping).NeedsInside(BufferIndex(0), kBegin, kEnd);
  return {needs.hbm, needs.fast};
}

Interval CopiedInAt(InstructionIndex first, InstructionIndex last) {
  return {.first = first, .last = last, .copy_in_start = first, .copy_in_done = first};
}

TEST(CopyPoints, ALoopNeedsAnInputInTheMemoriesThatItReads) {
  EXPECT_EQ(NeedsOfLoop({}, {0, 0, 0}), std::pair(true, false));
  EXPECT_EQ(NeedsOfLoop({CopiedInAt(0, 5)}, {1, 1, 1}), std::pair(false, true));
  EXPECT_EQ(NeedsOfLoop({CopiedInAt(0, 5)}, {0, 1, 1}), std::pair(true, true));
  EXPECT_EQ(NeedsOfLoop({CopiedInAt(5, 5)}, {0, 0, 1}), std::pair(true, false));
}

TEST(CopyPoints, AnIntervalFromTheLoopsBeginEntersIt) {
  EXPECT_EQ(NeedsOfLoop({CopiedInAt(kBegin, 4)}, {1, 1, 0}), std::pair(false, true));
}

TEST(CopyPoints, ACopyInInsideTheLoopNeedsTheInputInHbm) {
  EXPECT_EQ(NeedsOfLoop({CopiedInAt(2, 3)}, {1, 1, 0}), std::pair(true, false));
}

TEST(CopyPoints, ACopyInAtTheEndIsInsideTheLoop) {
  // The end runs in each pass, and the copy just before it does, too.
  const Interval outside = CopiedInAt(0, 3);
  EXPECT_EQ(NeedsOfLoop({outside, CopiedInAt(kEnd, 4)}, {1, 1, 0}), std::pair(true, true));
  EXPECT_EQ(NeedsOfLoop({outside, CopiedInAt(5, 5)}, {1, 1, 1}), std::pair(false, true));
}

TEST(CopyPoints, OfCopiesQueuedTogetherTheOneNeededFirstStartsFirst) {
  // Both copies are queued before instruction 0. Interval 1 is needed by instruction 1, interval 0
  // only by instruction 2.
  ProgramBuilder builder;
  const BufferIndex late = builder.AddBuffer(500, {.live_in = true});
  const BufferIndex soon = builder.AddBuffer(100, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(100, {Read(soon)});
  builder.AddInstruction(0, {Read(late)});
  const Program program = builder.Build();
  const Mapping mapping = {
      .intervals = {
          {.buffer = late, .last = 2, .copy_in_start = 0, .copy_in_done = 2},
          {.buffer = soon, .last = 1, .offset = 500, .copy_in_start = 0, .copy_in_done = 1}}};
  const CopyPoints points(program, mapping);
  ASSERT_EQ(points.At(0).size(), 2);
  EXPECT_EQ(points.At(0)[0].interval, 1);
  EXPECT_EQ(points.At(0)[1].interval, 0);
}

TEST(CopyPoints, CopiesNeededTogetherStartInTheOrderOfTheIntervals) {
  ProgramBuilder builder;
  const BufferIndex first = builder.AddBuffer(64, {.live_in = true});
  const BufferIndex second = builder.AddBuffer(64, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(10, {Read(first), Read(second)});
  const Program program = builder.Build();
  const Mapping mapping = {
      .intervals = {
          {.buffer = first, .last = 1, .copy_in_start = 0, .copy_in_done = 1},
          {.buffer = second, .last = 1, .offset = 64, .copy_in_start = 0, .copy_in_done = 1}}};
  const CopyPoints points(program, mapping);
  ASSERT_EQ(points.At(0).size(), 2);
  EXPECT_EQ(points.At(0)[0].interval, 0);
  EXPECT_EQ(points.At(0)[1].interval, 1);
}

}  // namespace
}  // namespace mallocmuzero::place
