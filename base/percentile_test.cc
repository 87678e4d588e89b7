#include "base/percentile.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(Percentile, IsTheLeastValueThatTheShareDoesNotExceed) {
  const std::vector<double> values = {5, 2, 4, 1, 3};
  EXPECT_EQ(Percentile(values, 0.2), 1);   // one of five
  EXPECT_EQ(Percentile(values, 0.21), 2);  // two of five are the first 21 %
  EXPECT_EQ(Percentile(values, 0.5), 3);
  EXPECT_EQ(Percentile(values, 0.99), 5);
}

TEST(Percentile, OfAnEvenNumberTakesTheLowerOneInTheMiddle) {
  EXPECT_EQ(Percentile({4, 1, 3, 2}, 0.5), 2);
}

TEST(Percentile, OfNoneAndOfAllAreTheLeastAndTheGreatestValue) {
  EXPECT_EQ(Percentile({3, 1, 2}, 0), 1);
  EXPECT_EQ(Percentile({3, 1, 2}, 1), 3);
  EXPECT_EQ(Percentile({7}, 0), 7);
  EXPECT_EQ(Percentile({7}, 1), 7);
}

TEST(Percentile, TakesNaNForTheGreatestValue) {
  const double nan = std::nan("");
  EXPECT_EQ(Percentile({nan, 1, nan, 3, 2, nan}, 0.5), 3);
  EXPECT_EQ(Percentile({2, nan, 1}, 0), 1);
  EXPECT_TRUE(std::isnan(Percentile({2, nan, 1}, 1)));
}

TEST(Percentile, OfNoValuesIsZero) { EXPECT_EQ(Percentile({}, 0.5), 0); }

}  // namespace
}  // namespace mallocmuzero
