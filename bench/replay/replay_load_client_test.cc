#include "bench/replay/replay_load_client.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace mallocmuzero::bench {
namespace {

TEST(TimeHistogram, HasQuantilesWithinItsSteps) {
  TimeHistogram times;
  for (int ms = 1; ms <= 100; ++ms) times.Add(absl::Milliseconds(ms));
  EXPECT_NEAR(times.QuantileMs(0), 1, 0.05);
  EXPECT_NEAR(times.QuantileMs(0.5), 51, 0.05 * 51);
  EXPECT_NEAR(times.QuantileMs(0.99), 100, 0.05 * 100);
}

TEST(TimeHistogram, HasNoTimeIfNothingWasTimed) {
  const TimeHistogram times;
  EXPECT_EQ(times.QuantileMs(0.5), 0);
  EXPECT_EQ(times.QuantileMs(0.99), 0);
}

}  // namespace
}  // namespace mallocmuzero::bench
