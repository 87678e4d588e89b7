#include "base/rounding.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

TEST(RoundToZero, LeavesOutTheFraction) {
  EXPECT_EQ(RoundToZero(2.9), 2);
  EXPECT_EQ(RoundToZero(-2.9), -2);
  EXPECT_EQ(RoundToZero(-0.5), 0);
}

TEST(RoundToZero, KeepsTheLargestNumbersThatFit) {
  EXPECT_EQ(RoundToZero(0x1p62), int64_t{1} << 62);
  EXPECT_EQ(RoundToZero(-0x1p63), kLeast);
}

TEST(RoundToZero, GivesTheNearestNumberForOneThatDoesNotFit) {
  EXPECT_EQ(RoundToZero(0x1p63), kMost);
  EXPECT_EQ(RoundToZero(-1e19), kLeast);
  EXPECT_EQ(RoundToZero(std::numeric_limits<double>::infinity()), kMost);
  EXPECT_EQ(RoundToZero(-std::numeric_limits<double>::infinity()), kLeast);
}

TEST(RoundToZero, GivesZeroForNoNumber) {
  EXPECT_EQ(RoundToZero(std::numeric_limits<double>::quiet_NaN()), 0);
}

}  // namespace
}  // namespace mallocmuzero
