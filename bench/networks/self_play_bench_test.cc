#include "bench/networks/self_play_bench.h"

#include "gtest/gtest.h"

namespace mallocmuzero::bench {
namespace {

TEST(GamesToHaveReady, AreMoreThanCanBePlayedButNoMoreThanMemoryHolds) {
  // 0.5 s x 2 threads x 1,000,000 decisions / 50, and 2 x 128 in flight.
  EXPECT_EQ(GamesToHaveReady(0.5, 2, 128, 50), 20'000 + 256);
  EXPECT_EQ(GamesToHaveReady(600, 1024, 128, 9), 1'000'000 + 1024 * 128);
}

}  // namespace
}  // namespace mallocmuzero::bench
