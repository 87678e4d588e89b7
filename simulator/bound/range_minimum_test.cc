#include "simulator/bound/range_minimum.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "base/testing/index_matching.h"
#include "gtest/gtest.h"

namespace mallocmuzero::bound {
namespace {

TEST(RangeMinimum, FindsTheSmallestEntryOfEveryRange) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  RangeMinimum minimum;
  for (const InstructionIndex n : std::initializer_list<InstructionIndex>{1, 2, 7, 8, 33}) {
    IndexVector<InstructionIndex, double> entries(n);
    for (double& entry : entries) entry = uniform(random);
    minimum.Build(entries);
    for (InstructionIndex begin = 0; begin < n; ++begin) {
      for (InstructionIndex end = begin + 1; end <= n; ++end) {
        const auto smallest = std::min_element(entries.IteratorAt(begin), entries.IteratorAt(end));
        EXPECT_EQ(minimum.Minimum(begin, end), *smallest);
        EXPECT_EQ(minimum.IndexOfMinimum(begin, end), smallest - entries.begin());
      }
    }
  }
}

TEST(RangeMinimum, OfAnEmptyRangeIsInfinite) {
  RangeMinimum minimum;
  minimum.Build(IndexVector<InstructionIndex, double>{1, 2});
  EXPECT_EQ(minimum.Minimum(1, 1), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace mallocmuzero::bound
