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

Mapping InFast(const Program& program, std::vector<uint8_t> in_fast_memory,
               std::vector<Interval> intervals) {
  EXPECT_EQ(in_fast_memory.size(), program.access_count());
  return {std::move(intervals), std::move(in_fast_memory), "test"};
}

Interval CopyIn(uint32_t buffer, uint32_t start, uint32_t done) {
  Interval interval = {.buffer = buffer, .first = start, .last = done};
  interval.copy_in_start = static_cast<int32_t>(start);
  interval.copy_in_done = static_cast<int32_t>(done);
  return interval;
}

Interval CopyOut(uint32_t buffer, uint32_t first, uint32_t start, uint32_t done) {
  Interval interval = {.buffer = buffer, .first = first, .last = start};
  interval.copy_out_start = static_cast<int32_t>(start);
  interval.copy_out_done = static_cast<int32_t>(done);
  return interval;
}

// A copy of 400 bytes behind an instruction of 100 cycles, for a reader of 50 cycles that takes 20
// with its operand in fast memory.
struct Prefetch {
  explicit Prefetch(int64_t hbm_bytes_of_first) {
    weights = builder.AddBuffer(400, {.live_in = true});
    builder.SetFixedHbmBytes(builder.AddInstruction(100), hbm_bytes_of_first);
    builder.AddInstruction(50, {Read(weights, 30)});
  }
  ProgramBuilder builder;
  uint32_t weights;
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
  // 100 cycles leave 1000 bytes, the copy needs 400: 100 + 20.
  const Prefetch prefetch(0);
  const Program program = prefetch.builder.Build();
  const Price price = Simulate(program, InFast(program, {1}, {CopyIn(prefetch.weights, 0, 1)}));
  EXPECT_EQ(price.total_cycles, 120);
  EXPECT_EQ(price.stall_cycles, 0);
  EXPECT_EQ(price.copies, 1);
}

TEST(Simulate, CopyCannotHideBehindMemoryBoundInstruction) {
  // 100 cycles x 10 bytes are all used: the copy takes 400 / 10 = 40 cycles. 100 + 40 + 20.
  const Prefetch prefetch(1000);
  const Program program = prefetch.builder.Build();
  const Price price = Simulate(program, InFast(program, {1}, {CopyIn(prefetch.weights, 0, 1)}));
  EXPECT_EQ(price.stall_cycles, 40);
  EXPECT_EQ(price.total_cycles, 160);
}

TEST(Simulate, CopyHidesInWhatIsLeft) {
  // 1000 - 800 = 200 bytes left, 200 of 400 remain: 20 cycles.
  const Prefetch prefetch(800);
  const Program program = prefetch.builder.Build();
  EXPECT_EQ(Simulate(program, InFast(program, {1}, {CopyIn(prefetch.weights, 0, 1)})).stall_cycles,
            20);
}

TEST(Simulate, InstructionThatMovesMoreThanTheBandwidthLeavesNothing) {
  // 100 cycles and 5000 bytes: the bandwidth left over is 0, not -4000.
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
  // The first instruction reads `a`, 600 bytes, in 100 cycles. From fast memory it leaves 1000
  // bytes: 700 of `b` are hidden. From HBM 400: 300 remain, 30 cycles.
  ProgramBuilder builder;
  const uint32_t a = builder.AddBuffer(600, {.live_in = true});
  const uint32_t b = builder.AddBuffer(700, {.live_in = true});
  builder.AddInstruction(100, {Read(a)});
  builder.AddInstruction(50, {Read(b)});
  const Program program = builder.Build();
  EXPECT_EQ(Simulate(program, InFast(program, {1, 1}, {CopyIn(b, 0, 1)})).stall_cycles, 0);
  EXPECT_EQ(Simulate(program, InFast(program, {0, 1}, {CopyIn(b, 0, 1)})).stall_cycles, 30);
}

TEST(Simulate, InPlaceUpdateUsesTheBandwidthOfWhatItMoves) {
  // The update spans 400 bytes and moves 20. 10 cycles leave 100 - 20 = 80 bytes, all that the
  // copy of 80 needs; by its footprint nothing would be left and the copy would stall 8 cycles.
  ProgramBuilder builder;
  const uint32_t cache = builder.AddBuffer(400, {.live_in = true});
  const uint32_t small = builder.AddBuffer(80, {.live_in = true});
  builder.AddInstruction(10, {Update(cache, 0, 20)});
  builder.AddInstruction(10, {Read(small)});
  const Program program = builder.Build();
  EXPECT_EQ(Simulate(program, InFast(program, {0, 1}, {CopyIn(small, 0, 1)})).stall_cycles, 0);
  const Traffic traffic = MeasureTraffic(program, InFast(program, {0, 1}, {}));
  EXPECT_EQ(traffic.bytes_accessed, 100);
  EXPECT_EQ(traffic.hbm_bytes, 20);
}

TEST(Simulate, ReadsAndWritesInFlightShareTheBandwidth) {
  // 20 cycles leave 200 bytes: 100 for the write-back of 100, which is done, 100 for the prefetch
  // of 300. Waiting for the other 200 takes 20 cycles.
  ProgramBuilder builder;
  const uint32_t written = builder.AddBuffer(100, {.live_out = true});
  const uint32_t weights = builder.AddBuffer(300, {.live_in = true});
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
  // Written in the last instruction: 300 bytes take 30 cycles after it.
  ProgramBuilder builder;
  const uint32_t result = builder.AddBuffer(300, {.live_out = true});
  builder.AddInstruction(50, {Write(result, 10)});
  const Program program = builder.Build();
  const Price price = Simulate(program, InFast(program, {1}, {CopyOut(result, 0, 1, 1)}));
  EXPECT_EQ(price.stall_cycles, 30);
  EXPECT_EQ(price.total_cycles, 70);
}

TEST(Simulate, CopiesFinishFirstInFirstOut) {
  // 500 bytes of `first` are ahead of 100 of `second`; 10 cycles move 100. Waiting for `second`
  // moves the other 400 too: 50 cycles. Then `first` is there.
  ProgramBuilder builder;
  const uint32_t first = builder.AddBuffer(500, {.live_in = true});
  const uint32_t second = builder.AddBuffer(100, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(0, {Read(second)});
  builder.AddInstruction(0, {Read(first)});
  const Program program = builder.Build();
  const Price price =
      Simulate(program, InFast(program, {1, 1}, {CopyIn(first, 0, 2), CopyIn(second, 0, 1)}));
  EXPECT_EQ(price.stall_cycles, 50);
}

TEST(Simulate, SlicesAreQueuedOneByOne) {
  // 10 cycles leave 100 bytes, twice. Of one piece of 400 bytes 200 remain: 20 cycles. With 50
  // bytes queued first and 350 an instruction later, the first instruction moves only 50, the
  // second 100, and 250 remain: 25 cycles. Two slices are one copy.
  ProgramBuilder builder;
  const uint32_t weights = builder.AddBuffer(400, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(10);
  builder.AddInstruction(0, {Read(weights)});
  const Program program = builder.Build();
  Interval interval = CopyIn(weights, 0, 2);
  EXPECT_EQ(Simulate(program, InFast(program, {1}, {interval})).stall_cycles, 20);
  interval.copy_in_slices = {{.start = 0, .bytes = 50}, {.start = 1, .bytes = 350}};
  const Price sliced = Simulate(program, InFast(program, {1}, {interval}));
  EXPECT_EQ(sliced.stall_cycles, 25);
  EXPECT_EQ(sliced.copies, 1);
}

TEST(Simulate, LoopsMultiplyTheirInstructions) {
  // 5 + 3 x 7, and 5 + 2 x (1 + 3 x 4 + 2) = 35.
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
  // The body's first instruction is memory bound (10 cycles, 100 bytes): the copy of 50 bytes
  // stalls 5 cycles, 3 times.
  ProgramBuilder builder;
  const uint32_t weights = builder.AddBuffer(50, {.live_in = true});
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
  // The body writes 40 bytes in an instruction of 2 cycles; the write-back starts at the end
  // marker, so all of it is stall: 4 cycles, 3 times inside, once behind the loop.
  ProgramBuilder builder;
  const uint32_t written = builder.AddBuffer(40);
  builder.BeginLoop(3);
  builder.AddInstruction(2, {Write(written)});  // 1
  builder.EndLoop();                            // 2
  builder.AddInstruction(1);                    // 3
  const Program program = builder.Build();
  EXPECT_EQ(Simulate(program, InFast(program, {1}, {CopyOut(written, 1, 2, 2)})).stall_cycles, 12);
  EXPECT_EQ(Simulate(program, InFast(program, {1}, {CopyOut(written, 1, 2, 3)})).stall_cycles, 4);
}

TEST(Simulate, LoopGivesCopiesTheBandwidthOfOneExecution) {
  // As in XLA's RuntimeSimulator: the body of 10 cycles runs 10 times, but moves 100 of 500 bytes
  // once. 400 / 10 = 40 cycles remain.
  ProgramBuilder builder;
  const uint32_t weights = builder.AddBuffer(500, {.live_in = true});
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
  const uint32_t a = builder.AddBuffer(400, {.live_in = true});
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
  const uint32_t free = builder.AddBuffer(10, {.live_in = true});
  const uint32_t pinned = builder.AddBuffer(10, {.live_in = true, .pinned_to_hbm = true});
  builder.AddInstruction(100, {Read(free, 20), Read(pinned, 50)});
  EXPECT_EQ(AllFastCycles(builder.Build()), 80);
}

TEST(Simulate, TrafficCountsExecutionsAndFixedBytes) {
  // In the loop 30 + 7 bytes, 4 times; outside 20 read from fast memory.
  ProgramBuilder builder;
  const uint32_t a = builder.AddBuffer(30, {.live_in = true});
  const uint32_t b = builder.AddBuffer(20, {.live_in = true});
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
  // 50 cycles x 10 = 500 bytes, less 30 fixed and the accesses in HBM, 100 and 200.
  ProgramBuilder builder;
  const uint32_t a = builder.AddBuffer(100, {.live_in = true});
  const uint32_t b = builder.AddBuffer(200, {.live_in = true});
  builder.SetFixedHbmBytes(builder.AddInstruction(50, {Read(a), Read(b)}), 30);
  const Program program = builder.Build();
  EXPECT_EQ(IdleBytes(program, 0, 0b00, 50), 170);
  EXPECT_EQ(IdleBytes(program, 0, 0b01, 50), 270);
  EXPECT_EQ(IdleBytes(program, 0, 0b10, 50), 370);
  EXPECT_EQ(IdleBytes(program, 0, 0b11, 50), 470);
  EXPECT_EQ(IdleBytes(program, 0, 0b00, 1), 0);
}

// Random straight-line programs and copies. Execution counts are 1: a stall before a loop can hide
// a copy that would otherwise stall in every iteration, so in general removing a copy may cost.
class RandomPrices : public ::testing::TestWithParam<int> {
 protected:
  RandomPrices() : random_(GetParam()), program_(MakeProgram()) {
    mapping_ = AllHbmMapping(program_);
    for (uint8_t& fast : mapping_.in_fast_memory) fast = random_() % 2;
    for (int i = 0; i < 40; ++i) {
      const uint32_t start = random_() % kInstructions;
      const uint32_t done = start + random_() % (kInstructions - start);
      const uint32_t buffer = random_() % kBuffers;
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
      const uint32_t b = random_() % kBuffers;
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

TEST_P(RandomPrices, PricingAgainGivesTheSame) {
  const Price first = Simulate(program_, mapping_);
  const Price second = Simulate(program_, mapping_);
  EXPECT_EQ(first.total_cycles, second.total_cycles);
  EXPECT_EQ(first.stall_cycles, second.stall_cycles);
}

// While the program stalls the copies have the whole bandwidth, so each of their bytes is waited
// for at most once.
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
