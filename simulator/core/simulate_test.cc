// Prices worked out by hand on the chip of SmallHardware: 10 bytes of HBM bandwidth a cycle, fast
// memory reads 100 and writes 50 bytes a cycle, 1000 flops a cycle.

#include "simulator/core/simulate.h"

#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::mallocmuzero::testing::ProgramBuilder;
using ::mallocmuzero::testing::Read;
using ::mallocmuzero::testing::Update;
using ::mallocmuzero::testing::Write;

Mapping InFast(const Program& program, IndexVector<AccessIndex, uint8_t> in_fast_memory,
               std::vector<Interval> intervals) {
  EXPECT_EQ(in_fast_memory.size(), program.access_count());
  return {std::move(intervals), std::move(in_fast_memory), "test"};
}

Interval CopyIn(BufferIndex buffer, InstructionIndex start, InstructionIndex done) {
  Interval interval = {.buffer = buffer, .first = start, .last = done};
  interval.copy_in_start = start;
  interval.copy_in_done = done;
  return interval;
}

Interval CopyOut(BufferIndex buffer, InstructionIndex first, InstructionIndex start,
                 InstructionIndex done) {
  Interval interval = {.buffer = buffer, .first = first, .last = start};
  interval.copy_out_start = start;
  interval.copy_out_done = done;
  return interval;
}

// A copy of 400 bytes runs behind an instruction of 100 cycles. Its reader takes 50 cycles, or 20
// with the operand in fast memory.
struct Prefetch {
  explicit Prefetch(int64_t hbm_bytes_of_first) {
    weights = builder.AddBuffer(400, {.live_in = true});
    builder.SetFixedHbmBytes(builder.AddInstruction(100), hbm_bytes_of_first);
    builder.AddInstruction(50, {Read(weights, 30)});
  }
  ProgramBuilder builder;
  BufferIndex weights;
};

TEST(Simulate, AddsInstructionsInHbm) {
  const Program program = Prefetch(0).builder.Build();
  const Price price = SimulateAllHbm(program);
  EXPECT_EQ(price.total_cycles, 150);
  EXPECT_EQ(price.estimated_cycles, 150);
  EXPECT_EQ(price.stall_cycles, 0);
  EXPECT_EQ(price.copies, 0);
}

TEST(Simulate, CopyHidesBehindCompute) {
  // 100 cycles leave 1000 bytes and the copy needs 400: no stall, 100 + 20 cycles.
  const Prefetch prefetch(0);
  const Program program = prefetch.builder.Build();
  const Price price = Simulate(program, InFast(program, {1}, {CopyIn(prefetch.weights, 0, 1)}));
  EXPECT_EQ(price.total_cycles, 120);
  EXPECT_EQ(price.stall_cycles, 0);
  EXPECT_EQ(price.copies, 1);
}

TEST(Simulate, CopyCannotHideBehindMemoryBoundInstruction) {
  // The instruction uses all of its 100 cycles x 10 bytes, so the copy takes 400 / 10 = 40 cycles
  // after it: 100 + 40 + 20.
  const Prefetch prefetch(1000);
  const Program program = prefetch.builder.Build();
  const Price price = Simulate(program, InFast(program, {1}, {CopyIn(prefetch.weights, 0, 1)}));
  EXPECT_EQ(price.stall_cycles, 40);
  EXPECT_EQ(price.total_cycles, 160);
}

TEST(Simulate, CopyHidesInWhatIsLeft) {
  // 1000 - 800 = 200 bytes are left to the copy; the other 200 of its 400 take 20 cycles.
  const Prefetch prefetch(800);
  const Program program = prefetch.builder.Build();
  EXPECT_EQ(Simulate(program, InFast(program, {1}, {CopyIn(prefetch.weights, 0, 1)})).stall_cycles,
            20);
}

TEST(Simulate, InstructionThatMovesMoreThanTheBandwidthLeavesNothing) {
  // The instruction accesses 5000 bytes in 100 cycles: the bandwidth left over is 0, not -4000.
  const Prefetch prefetch(5000);
  const Program program = prefetch.builder.Build();
  EXPECT_EQ(Simulate(program, InFast(program, {1}, {CopyIn(prefetch.weights, 0, 1)})).stall_cycles,
            40);
}

TEST(Simulate, CrossProgramPrefetchIsFree) {
  const Prefetch prefetch(1000);
  const Program program = prefetch.builder.Build();
  Interval interval = CopyIn(prefetch.weights, 0, 0);
  interval.last = 1;
  interval.cross_program_prefetch = true;
  const Price price = Simulate(program, InFast(program, {1}, {interval}));
  EXPECT_EQ(price.total_cycles, 120);
  EXPECT_EQ(price.copies, 0);
}

TEST(Simulate, FastAccessLeavesItsBandwidthToCopies) {
  // The first instruction reads the 600 bytes of `a` in 100 cycles. If it reads from fast memory,
  // it leaves 1000 bytes, which hide all 700 bytes of the copy of `b`. If it reads from HBM, it
  // leaves 400; the other 300 take 30 cycles.
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(600, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(700, {.live_in = true});
  builder.AddInstruction(100, {Read(a)});
  builder.AddInstruction(50, {Read(b)});
  const Program program = builder.Build();
  EXPECT_EQ(Simulate(program, InFast(program, {1, 1}, {CopyIn(b, 0, 1)})).stall_cycles, 0);
  EXPECT_EQ(Simulate(program, InFast(program, {0, 1}, {CopyIn(b, 0, 1)})).stall_cycles, 30);
}

TEST(Simulate, InPlaceUpdateUsesTheBandwidthOfWhatItMoves) {
  // The update's buffer has 400 bytes, but the update moves only 20. In 10 cycles it leaves 100 -
  // 20 = 80 bytes, all that the copy of 80 needs. If the whole buffer counted, nothing would be
  // left and the copy would stall 8 cycles.
  ProgramBuilder builder;
  const BufferIndex cache = builder.AddBuffer(400, {.live_in = true});
  const BufferIndex small = builder.AddBuffer(80, {.live_in = true});
  builder.AddInstruction(10, {Update(cache, 0, 20)});
  builder.AddInstruction(10, {Read(small)});
  const Program program = builder.Build();
  EXPECT_EQ(Simulate(program, InFast(program, {0, 1}, {CopyIn(small, 0, 1)})).stall_cycles, 0);
  const Traffic traffic = MeasureTraffic(program, InFast(program, {0, 1}, {}));
  EXPECT_EQ(traffic.bytes_accessed, 100);
  EXPECT_EQ(traffic.hbm_bytes, 20);
}

TEST(Simulate, ReadsAndWritesInFlightShareTheBandwidth) {
  // 20 cycles leave 200 bytes: 100 complete the write-back of 100, and 100 go to the prefetch of
  // 300. Its other 200 bytes take 20 cycles.
  ProgramBuilder builder;
  const BufferIndex written = builder.AddBuffer(100, {.live_out = true});
  const BufferIndex weights = builder.AddBuffer(300, {.live_in = true});
  builder.AddInstruction(5, {Write(written)});
  builder.AddInstruction(20);
  builder.AddInstruction(7, {Read(weights)});
  const Program program = builder.Build();
  const Price price = Simulate(
      program, InFast(program, {1, 1}, {CopyOut(written, 0, 1, 3), CopyIn(weights, 1, 2)}));
  EXPECT_EQ(price.stall_cycles, 20);
  EXPECT_EQ(price.total_cycles, 5 + 20 + 20 + 7);
  EXPECT_EQ(price.copies, 2);
}

TEST(Simulate, WriteBackIsWaitedForAtTheEnd) {
  // The value is written in the last instruction: its 300 bytes take 30 cycles after it.
  ProgramBuilder builder;
  const BufferIndex result = builder.AddBuffer(300, {.live_out = true});
  builder.AddInstruction(50, {Write(result, 10)});
  const Program program = builder.Build();
  const Price price = Simulate(program, InFast(program, {1}, {CopyOut(result, 0, 1, 1)}));
  EXPECT_EQ(price.stall_cycles, 30);
  EXPECT_EQ(price.total_cycles, 70);
}

TEST(Simulate, LoopsMultiplyTheirInstructions) {
  // 5 + 3 x 7 = 26, and 5 + 2 x (1 + 3 x 4 + 2) = 35.
  ProgramBuilder single;
  single.AddInstruction(5);
  single.BeginLoop(3);
  single.AddInstruction(7);
  single.EndLoop();
  EXPECT_EQ(SimulateAllHbm(single.Build()).total_cycles, 26);

  ProgramBuilder nested;
  nested.AddInstruction(5);
  nested.BeginLoop(2);
  nested.AddInstruction(1);
  nested.BeginLoop(3);
  nested.AddInstruction(4);
  nested.EndLoop();
  nested.AddInstruction(2);
  nested.EndLoop();
  EXPECT_EQ(SimulateAllHbm(nested.Build()).total_cycles, 35);
}

TEST(Simulate, StallInALoopHappensInEveryIteration) {
  // The body's first instruction uses the whole HBM bandwidth (10 cycles, 100 bytes), so the copy
  // of 50 bytes stalls 5 cycles in each of 3 passes.
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(50, {.live_in = true});
  builder.BeginLoop(3);
  builder.SetFixedHbmBytes(builder.AddInstruction(10), 100);
  builder.AddInstruction(20, {Read(weights, 10)});
  builder.EndLoop();
  const Program program = builder.Build();
  const Price price = Simulate(program, InFast(program, {1}, {CopyIn(weights, 1, 2)}));
  EXPECT_EQ(price.stall_cycles, 15);
  EXPECT_EQ(price.total_cycles, 3 * (10 + 5 + 10));
}

TEST(Simulate, WaitAtTheLoopEndIsInsideAndBehindItOutside) {
  // The body writes 40 bytes in an instruction of 2 cycles. The write-back starts at the end
  // marker, so all of it is a stall: 4 cycles, three times inside the loop, and once behind it.
  ProgramBuilder builder;
  const BufferIndex written = builder.AddBuffer(40);
  builder.BeginLoop(3);
  builder.AddInstruction(2, {Write(written)});  // instruction 1
  builder.EndLoop();                            // instruction 2
  builder.AddInstruction(1);                    // instruction 3
  const Program program = builder.Build();
  EXPECT_EQ(Simulate(program, InFast(program, {1}, {CopyOut(written, 1, 2, 2)})).stall_cycles, 12);
  EXPECT_EQ(Simulate(program, InFast(program, {1}, {CopyOut(written, 1, 2, 3)})).stall_cycles, 4);
}

TEST(Simulate, LoopGivesCopiesTheBandwidthOfOneExecution) {
  // As in XLA's RuntimeSimulator, the body of 10 cycles runs 10 times but moves its 100 bytes only
  // once. The other 400 of the copy's 500 bytes take 40 cycles.
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(500, {.live_in = true});
  builder.BeginLoop(10);
  builder.AddInstruction(10);
  builder.EndLoop();
  builder.AddInstruction(20, {Read(weights)});
  const Program program = builder.Build();
  const Price price = Simulate(program, InFast(program, {1}, {CopyIn(weights, 0, 3)}));
  EXPECT_EQ(price.stall_cycles, 40);
  EXPECT_EQ(price.total_cycles, 100 + 40 + 20);
}

TEST(Simulate, LoopThatNeverRunsCostsNothing) {
  ProgramBuilder builder;
  builder.AddInstruction(3);
  builder.BeginLoop(0);
  builder.AddInstruction(1000);
  builder.EndLoop();
  EXPECT_EQ(SimulateAllHbm(builder.Build()).total_cycles, 3);
}

TEST(Simulate, ModelledInstructionsAreCountedApart) {
  // Roofline of 2000 flops and 400 bytes read: max(2, 40) in HBM; max(2, 4) in fast memory.
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(400, {.live_in = true});
  builder.AddInstruction(11);
  builder.AddModelled(2000, {Read(a)});
  const Program program = builder.Build();
  const Price hbm = SimulateAllHbm(program);
  EXPECT_EQ(hbm.estimated_cycles, 11);
  EXPECT_EQ(hbm.modelled_cycles, 40);
  EXPECT_EQ(hbm.total_cycles, 51);
  EXPECT_EQ(AllFastCycles(program), 11 + 4);
}

TEST(Simulate, AllFastLeavesPinnedBuffersInHbm) {
  ProgramBuilder builder;
  const BufferIndex free = builder.AddBuffer(10, {.live_in = true});
  const BufferIndex pinned = builder.AddBuffer(10, {.live_in = true, .pinned_to_hbm = true});
  builder.AddInstruction(100, {Read(free, 20), Read(pinned, 50)});
  EXPECT_EQ(AllFastCycles(builder.Build()), 80);
}

TEST(Simulate, TrafficCountsExecutionsAndFixedBytes) {
  // In the loop 30 + 7 bytes are accessed 4 times; outside, 20 bytes are read from fast memory.
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(30, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(20, {.live_in = true});
  builder.BeginLoop(4);
  builder.SetFixedHbmBytes(builder.AddInstruction(1, {Read(a)}), 7);
  builder.EndLoop();
  builder.AddInstruction(1, {Read(b)});
  const Program program = builder.Build();
  const Traffic traffic = MeasureTraffic(program, InFast(program, {0, 1}, {}));
  EXPECT_EQ(traffic.bytes_accessed, 4 * 37 + 20);
  EXPECT_EQ(traffic.hbm_bytes, 4 * 37);
}

TEST(Simulate, IdleBytesAreWhatTheInstructionLeaves) {
  // 50 cycles x 10 = 500 bytes, less 30 fixed bytes and less the accesses in HBM, of 100 and 200
  // bytes.
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(100, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(200, {.live_in = true});
  builder.SetFixedHbmBytes(builder.AddInstruction(50, {Read(a), Read(b)}), 30);
  const Program program = builder.Build();
  EXPECT_EQ(IdleBytes(program, 0, 0b00, 50), 170);
  EXPECT_EQ(IdleBytes(program, 0, 0b01, 50), 270);
  EXPECT_EQ(IdleBytes(program, 0, 0b10, 50), 370);
  EXPECT_EQ(IdleBytes(program, 0, 0b11, 50), 470);
  EXPECT_EQ(IdleBytes(program, 0, 0b00, 1), 0);
}

// Random straight-line programs and copies. There are no loops, because a stall before a loop can
// hide a copy that would otherwise stall in every iteration: with loops, removing a copy can make a
// program slower.
class RandomPrices : public ::testing::TestWithParam<int> {
 protected:
  RandomPrices() : random_(GetParam()), program_(MakeProgram()) {
    mapping_ = AllHbmMapping(program_);
    for (uint8_t& fast : mapping_.in_fast_memory) fast = random_() % 2;
    for (int i = 0; i < 40; ++i) {
      const InstructionIndex start(random_() % kInstructions);
      const InstructionIndex done = start + random_() % (kInstructions - start);
      const BufferIndex buffer(random_() % kBuffers);
      mapping_.intervals.push_back(random_() % 2 == 0 ? CopyIn(buffer, start, done)
                                                      : CopyOut(buffer, start, start, done + 1));
    }
    SortIntervals(mapping_);
  }

  static constexpr int kInstructions = 60;
  static constexpr int kBuffers = 15;

  Program MakeProgram() {
    ProgramBuilder builder;
    for (int b = 0; b < kBuffers; ++b) builder.AddBuffer(1 + random_() % 800, {.live_in = true});
    for (int i = 0; i < kInstructions; ++i) {
      const BufferIndex b(random_() % kBuffers);
      builder.SetFixedHbmBytes(
          builder.AddInstruction(random_() % 60, {Read(b, random_() % 20), Write(b, 3)}),
          random_() % 100);
    }
    return builder.Build();
  }

  std::mt19937 random_;
  Program program_;
  Mapping mapping_;
};

TEST_P(RandomPrices, TotalIsTheSumOfItsParts) {
  const Price price = Simulate(program_, mapping_);
  EXPECT_EQ(price.total_cycles,
            price.estimated_cycles + price.modelled_cycles + price.stall_cycles);
  EXPECT_EQ(price.copies, mapping_.intervals.size());
  Mapping without_copies = mapping_;
  without_copies.intervals.clear();
  EXPECT_EQ(Simulate(program_, without_copies).total_cycles,
            price.estimated_cycles + price.modelled_cycles);
}

// While the program stalls, the copies have the whole bandwidth, so the program waits at most once
// for each of their bytes.
TEST_P(RandomPrices, StallsAreAtMostTheTimeOfAllCopiesAtFullBandwidth) {
  double bytes = 0;
  for (const Interval& interval : mapping_.intervals) {
    bytes += static_cast<double>(program_.buffers()[interval.buffer].bytes);
  }
  const double stall = Simulate(program_, mapping_).stall_cycles;
  EXPECT_GT(stall, 0);
  EXPECT_LE(stall, bytes / program_.hardware().hbm_bytes_per_cycle() + 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrices, ::testing::Range(0, 30));

}  // namespace
}  // namespace mallocmuzero
