#include "bench/replay/replay_load_client.h"

#include "absl/time/time.h"
#include "base/percentile.h"
#include "gtest/gtest.h"

namespace mallocmuzero::bench {
namespace {

TEST(TimeHistogram, HasPercentilesWithinItsSteps) {
  TimeHistogram times;
  for (int ms = 1; ms <= 100; ++ms) times.Add(absl::Milliseconds(ms));
  EXPECT_NEAR(times.PercentileMs(0), 1, 0.05);
  EXPECT_NEAR(times.PercentileMs(0.5), 50, 0.05 * 50);
  EXPECT_NEAR(times.PercentileMs(0.99), 99, 0.05 * 99);
}

TEST(TimeHistogram, HasTheSamePercentilesAsTheOtherBenchmarks) {
  TimeHistogram times;
  times.Add(absl::Milliseconds(1));
  times.Add(absl::Milliseconds(100));
  EXPECT_NEAR(times.PercentileMs(0.5), Percentile({1, 100}, 0.5), 0.05);
  EXPECT_NEAR(times.PercentileMs(0.51), Percentile({1, 100}, 0.51), 0.05 * 100);
}

TEST(TimeHistogram, HasNoTimeIfNothingWasTimed) {
  const TimeHistogram times;
  EXPECT_EQ(times.PercentileMs(0.5), 0);
  EXPECT_EQ(times.PercentileMs(0.99), 0);
}

}  // namespace
}  // namespace mallocmuzero::bench
