// The order in which copies move, by prices worked out by hand on the chip of SmallHardware: 10
// bytes of HBM bandwidth a cycle.

#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::mallocmuzero::testing::ProgramBuilder;
using ::mallocmuzero::testing::Read;

// The price with all accesses in fast memory.
Price PriceOf(const Program& program, std::vector<Interval> intervals) {
  Mapping mapping = {.intervals = std::move(intervals)};
  mapping.in_fast_memory.assign(program.access_count(), 1);
  return Simulate(program, mapping);
}

Interval CopyInOf(BufferIndex buffer, InstructionIndex start, InstructionIndex done) {
  return {
      .buffer = buffer, .first = start, .last = done, .copy_in_start = start, .copy_in_done = done};
}

TEST(CopyOrder, CopiesFinishFirstInFirstOut) {
  // The 500 bytes of `first` are queued an instruction before the 100 of `second`. Two instructions
  // of 10 cycles move 200 bytes of `first`. Waiting for `second` moves the other 300, too: 40
  // cycles. After that, `first` is done as well.
  ProgramBuilder builder;
  const BufferIndex first = builder.AddBuffer(500, {.live_in = true});
  const BufferIndex second = builder.AddBuffer(100, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(10);
  builder.AddInstruction(0, {Read(second)});
  builder.AddInstruction(0, {Read(first)});
  const Price price = PriceOf(builder.Build(), {CopyInOf(first, 0, 3), CopyInOf(second, 1, 2)});
  EXPECT_EQ(price.stall_cycles, 40);
}

TEST(CopyOrder, OfCopiesQueuedTogetherTheOneNeededFirstMovesFirst) {
  // 10 cycles move all 100 bytes of `soon`, which is needed after them. Behind the 500 of `late` it
  // would be 50 cycles late. The 100 cycles of the next instruction hide `late`.
  ProgramBuilder builder;
  const BufferIndex late = builder.AddBuffer(500, {.live_in = true});
  const BufferIndex soon = builder.AddBuffer(100, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(100, {Read(soon)});
  builder.AddInstruction(0, {Read(late)});
  const Price price = PriceOf(builder.Build(), {CopyInOf(late, 0, 2), CopyInOf(soon, 0, 1)});
  EXPECT_EQ(price.stall_cycles, 0);
}

TEST(CopyOrder, SlicesAreQueuedOneByOne) {
  // Each of two instructions takes 10 cycles and leaves 100 bytes. If the copy is one piece of 400
  // bytes, 200 remain: 20 cycles. If 50 bytes are queued first and 350 an instruction later, the
  // first instruction moves only 50, the second 100, and 250 remain: 25 cycles. Two slices count as
  // one copy.
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(400, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(10);
  builder.AddInstruction(0, {Read(weights)});
  const Program program = builder.Build();
  Interval interval = CopyInOf(weights, 0, 2);
  EXPECT_EQ(PriceOf(program, {interval}).stall_cycles, 20);
  interval.copy_in_slices = {{.start = 0, .bytes = 50}, {.start = 1, .bytes = 350}};
  const Price sliced = PriceOf(program, {interval});
  EXPECT_EQ(sliced.stall_cycles, 25);
  EXPECT_EQ(sliced.copies, 1);
}

TEST(CopyOrder, ACopyIsWaitedForAfterASliceThatIsQueuedAtTheSamePoint) {
  // The first slice has 50 bytes, and the instruction of 10 cycles moves them. The second one is
  // queued only where the program needs it, so all of its 350 bytes are a stall: 35 cycles.
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(400, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(0, {Read(weights)});
  Interval interval = CopyInOf(weights, 0, 1);
  interval.copy_in_slices = {{.start = 0, .bytes = 50}, {.start = 1, .bytes = 350}};
  EXPECT_EQ(PriceOf(builder.Build(), {interval}).stall_cycles, 35);
}

}  // namespace
}  // namespace mallocmuzero
