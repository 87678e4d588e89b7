#include "view/ticks.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace mallocmuzero::view {
namespace {

TEST(NiceStep, IsOneTwoOrFiveTimesAPowerOfTen) {
  EXPECT_DOUBLE_EQ(NiceStep(10, 10), 1);
  EXPECT_DOUBLE_EQ(NiceStep(11, 10), 2);
  EXPECT_DOUBLE_EQ(NiceStep(21, 10), 5);
  EXPECT_DOUBLE_EQ(NiceStep(51, 10), 10);
  EXPECT_DOUBLE_EQ(NiceStep(0.03, 5), 0.01);
}

TEST(NiceStep, IsOneForNoRange) {
  EXPECT_EQ(NiceStep(0, 5), 1);
  EXPECT_EQ(NiceStep(-1, 5), 1);
  EXPECT_EQ(NiceStep(std::numeric_limits<double>::quiet_NaN(), 5), 1);
  EXPECT_EQ(NiceStep(std::numeric_limits<double>::infinity(), 5), 1);
}

// The power of ten below 5e-324, the least positive number, is 0.
TEST(NiceStep, IsAboveZeroForTheLeastRange) {
  EXPECT_GT(NiceStep(5e-323, 10), 0);
  EXPECT_GT(NiceStep(std::numeric_limits<double>::denorm_min(), 1), 0);
}

TEST(NiceScale, RoundsOutwardToTicks) {
  const Scale scale = NiceScale(8.48, 9.58, 5);  // 1.1 / 5 = 0.22 gives steps of 0.5
  EXPECT_DOUBLE_EQ(scale.step, 0.5);
  EXPECT_DOUBLE_EQ(scale.low, 8);
  EXPECT_DOUBLE_EQ(scale.high, 10);
}

TEST(NiceScale, StaysWhereEndsAreTicks) {
  const Scale scale = NiceScale(-0.3, 0.7, 5);
  EXPECT_DOUBLE_EQ(scale.step, 0.2);
  EXPECT_NEAR(scale.low, -0.4, 1e-12);
  EXPECT_NEAR(scale.high, 0.8, 1e-12);
  EXPECT_DOUBLE_EQ(NiceScale(0, 0.3, 3).high, 0.3);
}

TEST(NiceScale, MakesRoomAroundOneNumber) {
  const Scale scale = NiceScale(50, 50, 5);  // 45 to 55
  EXPECT_DOUBLE_EQ(scale.low, 44);
  EXPECT_DOUBLE_EQ(scale.high, 56);
  EXPECT_DOUBLE_EQ(scale.step, 2);
  EXPECT_LT(NiceScale(0, 0, 5).low, 0);
  EXPECT_GT(NiceScale(0, 0, 5).high, 0);
  // Two neighbouring doubles look the same in a picture.
  const double large = 1e15;
  EXPECT_GT(NiceScale(large, std::nextafter(large, 2 * large), 5).high, 1.05 * large);
}

TEST(TickText, HasTheDecimalsOfTheStep) {
  EXPECT_EQ(TickText(3, 1), "3");
  EXPECT_EQ(TickText(-120'000, 20'000), "-120,000");
  EXPECT_EQ(TickText(0.5, 0.5), "0.5");
  EXPECT_EQ(TickText(0.30000000000000004, 0.1), "0.3");
  EXPECT_EQ(TickText(1, 0.01), "1.00");
  EXPECT_EQ(TickText(-1e-17, 0.1), "0.0");
  EXPECT_EQ(TickText(2e7, 1e7), "2e+07");
  EXPECT_EQ(TickText(3e-7, 1e-7), "3e-07");
}

}  // namespace
}  // namespace mallocmuzero::view
