#include "optimize/packed_solve.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

// A clock on which every look takes as long as the test says. It is far ahead of SteadyNow.
absl::Duration& TimeOfLook() {
  static absl::Duration time;
  return time;
}

absl::Time ClockOfLooks() {
  static absl::Time now = absl::UnixEpoch() + absl::Hours(1'000'000);
  return now += TimeOfLook();
}

class SolveToPackTest : public testing::Test {
 protected:
  // A search of 750 looks at the clock, which plays some thousand games.
  static SolveOptions Options() {
    TimeOfLook() = absl::Microseconds(400);  // after a longer one, each step is followed by a look
    SolveOptions options;
    options.clock = ClockOfLooks;
    options.deadline = ClockOfLooks() + absl::Milliseconds(300);
    return options;
  }

  static place::PlacedModule Taking(int64_t bytes) {
    place::PlacedModule placed;
    placed.packed_bytes = placed.live_bytes = bytes;
    return placed;
  }

  const Program program_ = *LoadProgram(
      absl::StrCat(MALLOCMUZERO_SOURCE_DIR, "/workloads/tpu_v4i/axial_2x256_b6x128.program"));
  const int64_t capacity_ = program_.hardware().fast_memory_bytes();
};

TEST_F(SolveToPackTest, TheFirstMappingThatFitsIsTheAnswer) {
  int placed = 0;
  const absl::StatusOr<Solution> solution =
      SolveToPack(program_, Options(), [&](const Mapping&) -> absl::StatusOr<place::PlacedModule> {
        ++placed;
        return Taking(capacity_);
      });
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_EQ(placed, 1);
  EXPECT_LT(solution->cycles, program_.baseline()->compiled_cycles);
}

TEST_F(SolveToPackTest, IntervalsAreLeftOutUntilTheMappingFits) {
  size_t most = 0;  // number of intervals in the first mapping
  const absl::StatusOr<Solution> solution = SolveToPack(
      program_, Options(), [&](const Mapping& mapping) -> absl::StatusOr<place::PlacedModule> {
        if (most == 0) most = mapping.intervals.size();
        const int64_t left_out = most - std::min(most, mapping.intervals.size());
        return Taking(capacity_ + (3 - left_out) * (1 << 20));
      });
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_LE(solution->mapping.intervals.size(), most - 3);
  EXPECT_TRUE(Validate(program_, solution->mapping).empty());
  EXPECT_EQ(solution->cycles, Simulate(program_, solution->mapping).total_cycles);
  EXPECT_LT(solution->cycles, program_.baseline()->compiled_cycles);
}

TEST_F(SolveToPackTest, WhatNeedsLeastIsTheAnswerIfNothingFits) {
  const absl::StatusOr<Solution> solution = SolveToPack(
      program_, Options(),
      [&](const Mapping&) -> absl::StatusOr<place::PlacedModule> { return Taking(2 * capacity_); });
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_FALSE(solution->mapping.intervals.empty());
}

// Half of the intervals cannot be priced in the time that a remedy has, and the answer lacks one.
TEST_F(SolveToPackTest, IntervalsAreLeftOutThoughThereIsNoTimeToPriceAll) {
  TimeOfLook() = absl::Milliseconds(1);
  SolveOptions options;
  options.clock = ClockOfLooks;
  options.deadline = ClockOfLooks() + absl::Seconds(4);
  size_t most = 0;  // number of intervals in the first mapping
  const absl::StatusOr<Solution> solution = SolveToPack(
      program_, options, [&](const Mapping& mapping) -> absl::StatusOr<place::PlacedModule> {
        if (most == 0) {
          most = mapping.intervals.size();
          // Two seconds are left to leave intervals out. To price each takes a look.
          TimeOfLook() = absl::Milliseconds(2800) / most;
        }
        return Taking(capacity_ + (mapping.intervals.size() < most ? 0 : 1));
      });
  ASSERT_TRUE(solution.ok()) << solution.status();
  ASSERT_GT(most, 20);
  EXPECT_EQ(solution->mapping.intervals.size(), most - 1);
  EXPECT_TRUE(Validate(program_, solution->mapping).empty());
}

// The first look after the search takes a minute: no time is left for a remedy.
TEST_F(SolveToPackTest, TheTimeIsThatOfTheClockOfTheDeadline) {
  TimeOfLook() = absl::Milliseconds(1);
  SolveOptions options;
  options.clock = ClockOfLooks;
  options.deadline = ClockOfLooks() + absl::Seconds(4);
  int placed = 0;
  const absl::StatusOr<Solution> solution =
      SolveToPack(program_, options, [&](const Mapping&) -> absl::StatusOr<place::PlacedModule> {
        if (++placed == 1) TimeOfLook() = absl::Minutes(1);
        return Taking(2 * capacity_);
      });
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_FALSE(solution->mapping.intervals.empty());
  EXPECT_EQ(placed, 1);
}

// A search with less memory would have less than the alignment.
TEST_F(SolveToPackTest, WhatNeedsLeastIsTheAnswerIfNoMemoryIsLeftToSearchWith) {
  const absl::StatusOr<Solution> solution =
      SolveToPack(program_, Options(), [&](const Mapping&) -> absl::StatusOr<place::PlacedModule> {
        place::PlacedModule placed = Taking(2 * capacity_);
        placed.live_bytes = 1;
        return placed;
      });
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_FALSE(solution->mapping.intervals.empty());
}

// One of the largest intervals is left out of the first mapping, so the second one has fewer
// cycles.
TEST_F(SolveToPackTest, AMappingThatFitsIsTheAnswerIfTheNextOneCannotBePlaced) {
  size_t most = 0;  // number of intervals in the first mapping
  bool fits = false;
  bool refused = false;
  SolveOptions options = Options();
  options.deadline += absl::Seconds(2);
  const absl::StatusOr<Solution> solution = SolveToPack(
      program_, options, [&](const Mapping& mapping) -> absl::StatusOr<place::PlacedModule> {
        if (fits) {
          refused = true;
          return absl::FailedPreconditionError("no");
        }
        fits = most > 0;
        place::PlacedModule placed = Taking(capacity_);
        if (fits) return placed;
        most = mapping.intervals.size();
        int64_t largest = 0;
        for (const Interval& interval : mapping.intervals) {
          largest = std::max<int64_t>(largest, program_.buffers()[interval.buffer].bytes);
        }
        placed.packed_bytes += 4 * largest;
        return placed;
      });
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_TRUE(refused);
  EXPECT_EQ(solution->mapping.intervals.size(), most - 1);
}

TEST_F(SolveToPackTest, AMappingThatCannotBePlacedIsTheAnswerAsItIs) {
  const absl::StatusOr<Solution> solution =
      SolveToPack(program_, Options(), [&](const Mapping&) -> absl::StatusOr<place::PlacedModule> {
        return absl::FailedPreconditionError("no");
      });
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_FALSE(solution->mapping.intervals.empty());
}

}  // namespace
}  // namespace mallocmuzero
