#include "simulator/bound/range_minimum.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace mallocmuzero::bound {
namespace {

TEST(RangeMinimum, FindsTheSmallestEntryOfEveryRange) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  RangeMinimum minimum;
  for (const uint32_t n : {1u, 2u, 7u, 8u, 33u}) {
    std::vector<double> entries(n);
    for (double& entry : entries) entry = uniform(random);
    minimum.Build(entries);
    for (uint32_t begin = 0; begin < n; ++begin) {
      for (uint32_t end = begin + 1; end <= n; ++end) {
        const auto smallest = std::min_element(entries.begin() + begin, entries.begin() + end);
        EXPECT_EQ(minimum.Minimum(begin, end), *smallest);
        EXPECT_EQ(minimum.IndexOfMinimum(begin, end), smallest - entries.begin());
      }
    }
  }
}

TEST(RangeMinimum, OfAnEmptyRangeIsInfinite) {
  RangeMinimum minimum;
  minimum.Build({1.0, 2.0});
  EXPECT_EQ(minimum.Minimum(1, 1), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace mallocmuzero::bound
