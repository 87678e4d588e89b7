#include "base/enums.h"

#include <cstdint>
#include <type_traits>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

enum class Fruit : uint8_t { kApple, kPear, kPlum };

TEST(Underlying, IsTheNumberInTheTypeOfTheEnumeration) {
  EXPECT_EQ(Underlying(Fruit::kPlum), 2);
  EXPECT_TRUE((std::is_same_v<decltype(Underlying(Fruit::kPlum)), uint8_t>));
}

TEST(EnumArray, StartsWithDefaultElements) {
  const EnumArray<Fruit, int, 3> counts;
  EXPECT_EQ(counts[Fruit::kApple], 0);
  EXPECT_EQ(counts[Fruit::kPlum], 0);
}

TEST(EnumArray, HasOneElementForEachEnumerator) {
  EnumArray<Fruit, int, 3> counts = {{4, 5, 6}};
  ++counts[Fruit::kPear];
  EXPECT_EQ(counts[Fruit::kApple], 4);
  EXPECT_EQ(counts[Fruit::kPear], 6);
  EXPECT_EQ(counts[Fruit::kPlum], 6);
  EXPECT_NE(counts, (EnumArray<Fruit, int, 3>{{4, 5, 6}}));
}

}  // namespace
}  // namespace mallocmuzero
