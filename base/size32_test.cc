#include "base/size32.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

TEST(Size32, CountsElementsInASignedNumberUnlessToldOtherwise) {
  const std::vector<std::string> words = {"a", "b", "c"};
  EXPECT_EQ(Size32(words), 3);
  EXPECT_EQ(Size32(std::vector<int>()) - 1, -1);
  EXPECT_TRUE((std::is_same_v<decltype(Size32(words)), int32_t>));
  EXPECT_TRUE((std::is_same_v<decltype(Size32<uint32_t>(words)), uint32_t>));
}

}  // namespace
}  // namespace mallocmuzero
