#include "bench/networks/sampled_times.h"

#include "gtest/gtest.h"

namespace mallocmuzero::bench {
namespace {

TEST(SampledTimes, HasTheMedianOfFewTimes) {
  SampledTimes times;
  for (const double time : {5.0, 1.0, 9.0, 3.0, 4.0}) times.Add(time);
  EXPECT_EQ(times.Median(), 4);
  times.Add(0);
  EXPECT_EQ(times.Median(), 3);  // 0 1 3 4 5 9
}

TEST(SampledTimes, KeepsFewOfManyTimesFromTheWholeMeasurement) {
  SampledTimes times;
  constexpr int kTimes = 3'000'000;
  for (int k = 0; k < kTimes; ++k) {
    times.Add(k);
    ASSERT_LE(times.kept(), SampledTimes::kMost);
  }
  EXPECT_GT(times.kept(), SampledTimes::kMost / 2);
  // The kept times are evenly spaced, at most 2 x 3,000,000 / 65,536 < 92 apart.
  EXPECT_NEAR(times.Median(), kTimes / 2.0, 92);
}

}  // namespace
}  // namespace mallocmuzero::bench
