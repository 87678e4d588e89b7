#include "base/largest.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Largest, AreInOrderOfSizeAndEqualOnesInTheirOwn) {
  const std::vector<double> numbers = {3, -1, 7, 3, 5};
  EXPECT_THAT(Largest(numbers, 4), ElementsAre(2, 4, 0, 3));
}

TEST(Largest, AreNoMoreThanThereAre) {
  EXPECT_THAT(Largest({2, 1}, 9), ElementsAre(0, 1));
  EXPECT_THAT(Largest({2, 1}, 0), IsEmpty());
  EXPECT_THAT(Largest({}, 3), IsEmpty());
}

}  // namespace
}  // namespace mallocmuzero
