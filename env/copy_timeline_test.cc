// Copies that are added later move as they do in Simulate, and start as late as they can.

#include "env/copy_timeline.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "base/testing/index_matching.h"
#include "gtest/gtest.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"

namespace mallocmuzero {
namespace {

using testing::ProgramBuilder;

constexpr double kBytesPerCycle = 10;  // of testing::SmallHardware
constexpr int32_t kPending = CopyTimeline::kPending;

InstructionIndex Anywhere(InstructionIndex point) { return point; }

// Instructions without accesses: each leaves all the bandwidth of its cycles.
Program ProgramOf(const std::vector<double>& idle_bytes) {
  ProgramBuilder builder;
  builder.AddBuffer(1);
  for (const double bytes : idle_bytes) builder.AddInstruction(bytes / kBytesPerCycle);
  return builder.Build();
}

TEST(CopyTimeline, FindsTheLatestStartWithTheBandwidth) {
  const Program program = ProgramOf({100, 50, 200, 30});
  CopyTimeline timeline(program);
  for (const double idle : {100, 50, 200, 30}) timeline.Advance(idle);
  EXPECT_EQ(timeline.LatestStart(30, 0, 4, Anywhere), 3);
  EXPECT_EQ(timeline.LatestStart(31, 0, 4, Anywhere), 2);
  EXPECT_EQ(timeline.LatestStart(280, 0, 4, Anywhere), 1);  // 30 + 200 + 50
  EXPECT_EQ(timeline.LatestStart(380, 0, 4, Anywhere), 0);
  EXPECT_EQ(timeline.LatestStart(381, 0, 4, Anywhere), std::nullopt);
  EXPECT_EQ(timeline.LatestStart(280, 2, 4, Anywhere), std::nullopt);  // not before 2
  EXPECT_EQ(timeline.LatestStart(51, 0, 2, Anywhere), 0);              // needed at 2 already
}

TEST(CopyTimeline, ACopyTakesTheBandwidthFromLaterOnes) {
  const Program program = ProgramOf({100, 100, 100});
  CopyTimeline timeline(program);
  for (int i = 0; i < 3; ++i) timeline.Advance(100);
  timeline.Insert({.start = 2, .done = 3, .bytes = 60});
  EXPECT_EQ(timeline.SpareBytes(2), 40);
  EXPECT_EQ(timeline.IdleBytes(2), 100);
  EXPECT_EQ(timeline.LatestStart(40, 0, 3, Anywhere), 2);
  EXPECT_EQ(timeline.LatestStart(41, 0, 3, Anywhere), 1);
}

TEST(CopyTimeline, DoesNotMakeAnotherCopyLate) {
  const Program program = ProgramOf({100, 100, 0, 100});
  CopyTimeline timeline(program);
  timeline.Advance(100);
  timeline.Advance(100);
  timeline.Advance(0);
  timeline.Insert({.start = 1, .done = 3, .bytes = 80});
  timeline.Advance(100);
  // 40 bytes needed at 2 would go first at point 1, and leave 60 of the 80 in time.
  EXPECT_EQ(timeline.LatestStart(40, 0, 2, Anywhere), 0);
  EXPECT_EQ(timeline.LatestStart(20, 0, 2, Anywhere), 1);
}

TEST(CopyTimeline, StartsOnlyWhereItsLoopAllows) {
  const Program program = ProgramOf({100, 100, 100, 100});
  CopyTimeline timeline(program);
  for (int i = 0; i < 4; ++i) timeline.Advance(100);
  // Points 1 and 2 are in a loop that begins at 1.
  const auto outside = [](InstructionIndex point) {
    return point == 2 ? InstructionIndex(1) : point;
  };
  EXPECT_EQ(timeline.LatestStart(150, 0, 4, outside), 1);
  const auto inside_only = [](InstructionIndex point) {
    return point >= 2 ? point : InstructionIndex(-1);
  };
  EXPECT_EQ(timeline.LatestStart(150, 0, 4, inside_only), 2);
  EXPECT_EQ(timeline.LatestStart(250, 0, 4, inside_only), std::nullopt);
}

TEST(CopyTimeline, WriteBacksMoveBehindTheInstructions) {
  const Program program = ProgramOf({100, 100, 100, 100});
  CopyTimeline timeline(program);
  EXPECT_EQ(timeline.QueueWriteBack(150), 0);
  EXPECT_EQ(timeline.StartOf(0), 1);
  timeline.Advance(100);
  timeline.Advance(100);  // the first instruction that runs beside it
  EXPECT_EQ(timeline.DoneAt(0), kPending);
  EXPECT_EQ(timeline.PendingOut(), 50);
  EXPECT_EQ(timeline.first_pending(), 0);
  timeline.Advance(100);
  EXPECT_EQ(timeline.DoneAt(0), 3);
  EXPECT_EQ(timeline.first_pending(), 1);
  EXPECT_EQ(timeline.stall_cycles(), 0);
}

TEST(CopyTimeline, WaitingForAWriteBackStalls) {
  const Program program = ProgramOf({0, 100, 100});
  CopyTimeline timeline(program);
  timeline.QueueWriteBack(150);
  timeline.Advance(0);
  timeline.Advance(100);
  timeline.WaitFor(0, 2);
  EXPECT_EQ(timeline.DoneAt(0), 2);
  EXPECT_EQ(timeline.stall_cycles(), 5);  // 50 bytes at 10 a cycle
}

TEST(CopyTimeline, AStallCountsAsOftenAsTheInstructionRuns) {
  ProgramBuilder builder;
  builder.AddBuffer(1);
  builder.BeginLoop(7);
  builder.AddInstruction(0);
  builder.AddInstruction(0);
  builder.EndLoop();
  const Program program = builder.Build();
  CopyTimeline timeline(program);
  timeline.Advance(0);
  timeline.QueueWriteBack(30);
  timeline.Advance(0);
  timeline.WaitFor(0, 2);
  EXPECT_EQ(timeline.stall_cycles(), 7 * 3);
}

TEST(CopyTimeline, BothQueuesShareTheBandwidth) {
  const Program program = ProgramOf({0, 100, 100});
  CopyTimeline timeline(program);
  timeline.QueueWriteBack(80);
  timeline.Advance(0);
  timeline.Advance(100);  // the write-back alone is done
  EXPECT_EQ(timeline.DoneAt(0), 2);
  // 50 bytes beside it: 50 go each way, 30 are left to go out.
  timeline.Advance(100);
  EXPECT_EQ(timeline.LatestStart(60, 1, 2, Anywhere), std::nullopt);
  EXPECT_EQ(timeline.LatestStart(20, 1, 2, Anywhere), 1);
  EXPECT_EQ(timeline.Insert({.start = 1, .done = 2, .bytes = 50}), 0);
  EXPECT_EQ(timeline.DoneAt(0), 3);
}

TEST(CopyTimeline, ACopyCanDelayAWriteBackBeyondTheCurrentPoint) {
  const Program program = ProgramOf({0, 100, 100});
  CopyTimeline timeline(program);
  timeline.QueueWriteBack(80);
  timeline.Advance(0);
  timeline.Advance(100);
  ASSERT_EQ(timeline.DoneAt(0), 2);
  // 50 bytes go each way: 30 are left to go out.
  EXPECT_EQ(timeline.Insert({.start = 1, .done = 2, .bytes = 50}), 0);
  EXPECT_EQ(timeline.DoneAt(0), kPending);
  EXPECT_EQ(timeline.first_pending(), 0);
  EXPECT_EQ(timeline.PendingOut(), 30);
}

TEST(CopyTimeline, WhatIsWaitedForStaysDone) {
  const Program program = ProgramOf({0, 100, 100});
  CopyTimeline timeline(program);
  timeline.QueueWriteBack(80);
  timeline.Advance(0);
  timeline.Advance(100);
  timeline.WaitFor(0, 2);
  EXPECT_EQ(timeline.stall_cycles(), 0);
  // The write-back needs 80 of the 100 bytes of instruction 1 by point 2: 20 are left.
  EXPECT_EQ(timeline.LatestStart(20, 1, 2, Anywhere), 1);
  EXPECT_EQ(timeline.LatestStart(21, 1, 2, Anywhere), std::nullopt);
}

// A timeline and a program with the same copies, played at random.
class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed), program_(MakeProgram()), timeline_(program_) {}

  void Play() {
    const InstructionIndex count = program_.instructions().end_index();
    for (InstructionIndex i = 0; i < count; ++i) {
      Act();
      timeline_.Advance(IdleBytes(program_, i, 0, program_.latency().Cycles(i, 0)));
    }
    if (timeline_.first_pending() < timeline_.write_back_count()) {
      timeline_.WaitFor(timeline_.write_back_count() - 1, count);
    }
  }

  // The result of Simulate for the copies of the run.
  void ExpectPriceOfSimulate() const {
    Mapping mapping = CopiesIn();
    for (const WriteBackIndex w : write_backs_.indices()) {
      ASSERT_NE(timeline_.DoneAt(w), kPending);
      mapping.intervals.push_back({.buffer = write_backs_[w].buffer,
                                   .copy_out_start = timeline_.StartOf(w),
                                   .copy_out_done = timeline_.DoneAt(w)});
    }
    ASSERT_NEAR(timeline_.stall_cycles(), Simulate(program_, mapping).stall_cycles, 1e-9);
  }

  int found() const { return found_; }
  int refused() const { return refused_; }

 private:
  static constexpr uint32_t kBuffers = 12;

  struct WriteBack {
    BufferIndex buffer = 0;
    InstructionIndex waited_at = kPending;
  };
  struct CopyIn {
    BufferIndex buffer = 0;
    CopyTimeline::CopyIn copy;
  };

  int32_t Below(uint64_t bound) { return random_() % bound; }

  InstructionIndex AnyUpTo(InstructionIndex last) {
    return InstructionIndex(Below(last.number() + 1));
  }

  // Sizes are whole bytes, so that doubles are exact even where they are halved.
  Program MakeProgram() {
    ProgramBuilder builder;
    for (uint32_t b = 0; b < kBuffers; ++b) builder.AddBuffer(int64_t{8} * (1 + Below(30)));
    const int length = 4 + Below(16);
    int open = 0;
    for (int i = 0; i < length; ++i) {
      if (open < 2 && Below(8) == 0) {
        builder.BeginLoop(1 + Below(5));
        ++open;
      }
      builder.AddInstruction(Below(3) == 0 ? 0 : Below(25));
      if (open > 0 && Below(5) == 0) {
        builder.EndLoop();
        --open;
      }
    }
    for (; open > 0; --open) builder.EndLoop();
    return builder.Build();
  }

  double Bytes(BufferIndex buffer) const {
    return static_cast<double>(program_.buffers()[buffer].bytes);
  }

  void Act() {
    if (Below(3) == 0) TryCopyIn();
    if (Below(4) == 0) Wait();
    if (Below(3) == 0) {
      const auto buffer = BufferIndex(Below(kBuffers));
      timeline_.QueueWriteBack(program_.buffers()[buffer].bytes);
      write_backs_.push_back({buffer, kPending});
    }
  }

  void TryCopyIn() {
    const InstructionIndex now = timeline_.point();
    CopyIn wanted{BufferIndex(Below(kBuffers)), {}};
    wanted.copy.bytes = Bytes(wanted.buffer);
    wanted.copy.done = Below(4) == 0 ? AnyUpTo(now) : now;
    const InstructionIndex earliest = Below(3) == 0 ? AnyUpTo(now) : InstructionIndex(0);
    const std::optional<InstructionIndex> start =
        timeline_.LatestStart(wanted.copy.bytes, earliest, wanted.copy.done, Anywhere);
    ASSERT_EQ(start, LatestStartByTrying(wanted, earliest));
    if (!start) {
      ++refused_;
      return;
    }
    ++found_;
    wanted.copy.start = *start;
    timeline_.Insert(wanted.copy);
    copies_in_.push_back(wanted);
    for (const WriteBackIndex w : write_backs_.indices()) {
      ASSERT_EQ(timeline_.DoneAt(w) == kPending, w >= timeline_.first_pending());
    }
  }

  // Waits for a write-back now, or at an earlier point at which it was done.
  void Wait() {
    if (write_backs_.empty()) return;
    const auto w = WriteBackIndex(Below(write_backs_.size()));
    InstructionIndex point = timeline_.point();
    if (timeline_.StartOf(w) > point) return;
    const InstructionIndex done = timeline_.DoneAt(w);
    if (done != kPending) point = done + Below(point - done + 1);
    timeline_.WaitFor(w, point);
    InstructionIndex& waited_at = write_backs_[w].waited_at;
    waited_at = waited_at == kPending ? point : std::min(waited_at, point);
  }

  Mapping CopiesIn() const {
    Mapping mapping = AllHbmMapping(program_);
    for (const CopyIn& in : copies_in_) {
      mapping.intervals.push_back(
          {.buffer = in.buffer, .copy_in_start = in.copy.start, .copy_in_done = in.copy.done});
    }
    return mapping;
  }

  // Cycles waited at each point up to the current one. A write-back counts only where something
  // waits for it.
  std::vector<double> Waits(const Mapping& copies_in) const {
    Mapping mapping = copies_in;
    auto done = program_.instructions().end_index();
    for (WriteBackIndex w = write_backs_.end_index(); w-- > 0;) {
      // A wait for a write-back is a wait for all write-backs before it.
      if (write_backs_[w].waited_at != kPending) done = std::min(done, write_backs_[w].waited_at);
      mapping.intervals.push_back({.buffer = write_backs_[w].buffer,
                                   .copy_out_start = timeline_.StartOf(w),
                                   .copy_out_done = done});
    }
    std::reverse(mapping.intervals.begin() + copies_in.intervals.size(), mapping.intervals.end());
    const Trace trace = SimulateTrace(program_, mapping);
    std::vector<double> waits;
    for (InstructionIndex point = 0; point <= timeline_.point(); ++point) {
      waits.push_back(trace.steps[point].wait_before_queueing +
                      trace.steps[point].wait_after_queueing);
    }
    return waits;
  }

  std::optional<InstructionIndex> LatestStartByTrying(const CopyIn& wanted,
                                                      InstructionIndex earliest) const {
    const Mapping mapping = CopiesIn();
    const std::vector<double> before = Waits(mapping);
    double spare = 0;
    for (auto start = wanted.copy.done - 1; start >= earliest; --start) {
      spare += timeline_.SpareBytes(start);
      if (wanted.copy.done < timeline_.point() && spare < wanted.copy.bytes) continue;
      Mapping with = mapping;
      with.intervals.push_back(
          {.buffer = wanted.buffer, .copy_in_start = start, .copy_in_done = wanted.copy.done});
      const std::vector<double> after = Waits(with);
      if (std::equal(before.begin(), before.end(), after.begin(),
                     [](double b, double a) { return a <= b + 1e-6; })) {
        return start;
      }
    }
    return std::nullopt;
  }

  std::mt19937_64 random_;
  const Program program_;
  CopyTimeline timeline_;
  std::vector<CopyIn> copies_in_;
  IndexVector<WriteBackIndex, WriteBack> write_backs_;
  int found_ = 0;
  int refused_ = 0;
};

TEST(CopyTimeline, AgreesWithSimulateAndWithTryingEveryStart) {
  int found = 0;
  int refused = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RandomRun run(seed);
    run.Play();
    if (HasFatalFailure()) return;
    run.ExpectPriceOfSimulate();
    if (HasFatalFailure()) return;
    found += run.found();
    refused += run.refused();
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace mallocmuzero
