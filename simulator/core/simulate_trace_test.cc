// The steps of the walk behind a price, worked out by hand on the chip of SmallHardware: 10 bytes
// of HBM bandwidth a cycle.

#include <random>
#include <vector>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using ::mallocmuzero::testing::ProgramBuilder;
using ::mallocmuzero::testing::Read;
using ::mallocmuzero::testing::Write;
using ::testing::ElementsAre;

// The case of Simulate's ReadsAndWritesInFlightShareTheBandwidth: 100 bytes are written back and
// 300 prefetched behind 20 cycles, which leave 200 bytes, 100 for each direction. The program waits
// for the other 200 bytes of the prefetch.
class SharedBandwidth : public ::testing::Test {
 protected:
  SharedBandwidth() {
    const BufferIndex written = builder_.AddBuffer(100, {.live_out = true});
    const BufferIndex weights = builder_.AddBuffer(300, {.live_in = true});
    builder_.AddInstruction(5, {Write(written)});
    builder_.SetFixedHbmBytes(builder_.AddInstruction(25), 50);
    builder_.AddInstruction(7, {Read(weights)});
    mapping_ = {{{.buffer = written, .last = 1, .copy_out_start = 1, .copy_out_done = 3},
                 {.buffer = weights, .first = 1, .last = 2, .copy_in_start = 1, .copy_in_done = 2}},
                {1, 1},
                "test"};
  }

  ProgramBuilder builder_;
  Mapping mapping_;
};

TEST_F(SharedBandwidth, StepsHaveWaitsLatencyAndBytes) {
  const Trace trace = SimulateTrace(builder_.Build(), mapping_);
  ASSERT_EQ(trace.steps.size(), 4);
  EXPECT_EQ(trace.steps[0].cycles, 5);
  EXPECT_EQ(trace.steps[0].idle_bytes, 50);
  EXPECT_THAT(trace.steps[0].moved, ElementsAre(0, 0));
  EXPECT_EQ(trace.steps[1].hbm_bytes, 50);
  EXPECT_EQ(trace.steps[1].idle_bytes, 200);
  EXPECT_THAT(trace.steps[1].moved_after_queueing, ElementsAre(0, 0));
  EXPECT_THAT(trace.steps[1].moved, ElementsAre(100, 100));
  EXPECT_EQ(trace.steps[2].wait_before_queueing, 20);
  EXPECT_THAT(trace.steps[2].moved_before_queueing, ElementsAre(300, 100));
  EXPECT_EQ(trace.steps[2].cycles, 7);
  EXPECT_EQ(trace.steps[3].wait_before_queueing, 0);
  EXPECT_EQ(trace.steps[3].cycles, 0);
}

TEST_F(SharedBandwidth, CopiesHaveTheirPlaceInTheQueueAndTheirWait) {
  const Trace trace = SimulateTrace(builder_.Build(), mapping_);
  ASSERT_EQ(trace.copies.size(), 2);
  // The prefetch is needed at 2, the write-back only at 3, so the prefetch is queued first.
  const TraceCopy& in = trace.copies[0];
  EXPECT_EQ(in.interval, 1);
  EXPECT_EQ(in.direction, CopyDirection::kIn);
  EXPECT_EQ(in.queued_at, 1);
  EXPECT_EQ(in.begin, 0);
  EXPECT_EQ(in.end, 300);
  EXPECT_EQ(in.wait_cycles, 20);
  const TraceCopy& out = trace.copies[1];
  EXPECT_EQ(out.interval, 0);
  EXPECT_EQ(out.direction, CopyDirection::kOut);
  EXPECT_EQ(out.end, 100);
  EXPECT_EQ(out.wait_cycles, 0);
}

TEST(SimulateTrace, TellsWaitsBeforeQueueingFromThoseAfterIt) {
  // 10 cycles move 100 of the 150 bytes of `a`, so the program waits 5 cycles for it. Then the 80
  // bytes of `b` are queued and needed at once: 8 cycles.
  ProgramBuilder builder;
  const BufferIndex a = builder.AddBuffer(150, {.live_in = true});
  const BufferIndex b = builder.AddBuffer(80, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(10, {Read(a), Read(b)});
  const Mapping mapping = {
      {{.buffer = a, .first = 0, .last = 1, .copy_in_start = 0, .copy_in_done = 1},
       {.buffer = b, .first = 1, .last = 1, .copy_in_start = 1, .copy_in_done = 1}},
      {1, 1},
      "test"};
  const Trace trace = SimulateTrace(builder.Build(), mapping);
  EXPECT_EQ(trace.steps[1].wait_before_queueing, 5);
  EXPECT_EQ(trace.steps[1].wait_after_queueing, 8);
  EXPECT_THAT(trace.steps[1].moved_before_queueing, ElementsAre(150, 0));
  EXPECT_THAT(trace.steps[1].moved_after_queueing, ElementsAre(230, 0));
}

TEST(SimulateTrace, SlicesAreCopiesAndTheLastHasTheWait) {
  // The case of Simulate's SlicesAreQueuedOneByOne: 50 bytes, and 350 an instruction later.
  ProgramBuilder builder;
  const BufferIndex weights = builder.AddBuffer(400, {.live_in = true});
  builder.AddInstruction(10);
  builder.AddInstruction(10);
  builder.AddInstruction(0, {Read(weights)});
  Interval interval = {
      .buffer = weights, .first = 0, .last = 2, .copy_in_start = 0, .copy_in_done = 2};
  interval.copy_in_slices = {{.start = 0, .bytes = 50}, {.start = 1, .bytes = 350}};
  const Trace trace = SimulateTrace(builder.Build(), {{interval}, {1}, "test"});
  ASSERT_EQ(trace.copies.size(), 2);
  EXPECT_EQ(trace.copies[0].wait_cycles, 0);
  EXPECT_EQ(trace.copies[1].queued_at, 1);
  EXPECT_EQ(trace.copies[1].begin, 50);
  EXPECT_EQ(trace.copies[1].end, 400);
  EXPECT_EQ(trace.copies[1].wait_cycles, 25);
  EXPECT_EQ(trace.price.copies, 1);
}

TEST(SimulateTrace, HasThePriceOfSimulateAndStepsThatAddUpToIt) {
  for (int seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    ProgramBuilder builder;
    const BufferIndex weights = builder.AddBuffer(300 + random() % 500, {.live_in = true});
    builder.AddInstruction(random() % 50);
    builder.BeginLoop(3);
    builder.SetFixedHbmBytes(builder.AddInstruction(random() % 50), random() % 400);
    builder.AddInstruction(20, {Read(weights, 10)});
    builder.EndLoop();
    const Program program = builder.Build();
    const Mapping mapping = {{{.buffer = weights,
                               .first = 2,
                               .last = 3,
                               .copy_in_start = 2,
                               .copy_in_done = InstructionIndex(2 + random() % 2)}},
                             {1},
                             "test"};
    const Trace trace = SimulateTrace(program, mapping);
    const Price price = Simulate(program, mapping);
    EXPECT_EQ(trace.price.total_cycles, price.total_cycles);
    EXPECT_EQ(trace.price.stall_cycles, price.stall_cycles);
    double total = 0;
    for (const InstructionIndex i : trace.steps.indices()) {
      const TraceStep& step = trace.steps[i];
      const double count =
          i < program.instruction_count() ? program.instructions()[i].execution_count : 1;
      total += count * (step.wait_before_queueing + step.wait_after_queueing + step.cycles);
    }
    EXPECT_NEAR(total, price.total_cycles, 1e-9 * price.total_cycles);
  }
}

}  // namespace
}  // namespace mallocmuzero
