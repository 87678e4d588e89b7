#include "env/range_minimum.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(RangeMinimum, CountsBothEnds) {
  const RangeMinimum minimum({5, 3, 8, 1});
  EXPECT_EQ(minimum.Min(0, 0), 5);
  EXPECT_EQ(minimum.Min(0, 1), 3);
  EXPECT_EQ(minimum.Min(2, 2), 8);
  EXPECT_EQ(minimum.Min(0, 2), 3);
  EXPECT_EQ(minimum.Min(0, 3), 1);
}

TEST(RangeMinimum, OfEqualNumbersIsTheNumber) {
  const RangeMinimum minimum(std::vector<int64_t>(1000, 7));
  EXPECT_EQ(minimum.Min(0, 999), 7);
  EXPECT_EQ(minimum.Min(500, 500), 7);
}

TEST(RangeMinimum, AgreesWithLookingAtAll) {
  std::mt19937_64 random(1);
  for (size_t count = 1; count <= 33; ++count) {
    std::vector<int64_t> values(count);
    for (int64_t& value : values) value = static_cast<int64_t>(random() % 50);
    const RangeMinimum minimum(values);
    for (uint32_t first = 0; first < count; ++first) {
      for (uint32_t last = first; last < count; ++last) {
        ASSERT_EQ(minimum.Min(first, last),
                  *std::min_element(values.begin() + first, values.begin() + last + 1));
      }
    }
  }
}

}  // namespace
}  // namespace mallocmuzero
