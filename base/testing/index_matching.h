// Lets tests compare indices with plain numbers, for example in EXPECT_EQ.

#ifndef MALLOCMUZERO_BASE_TESTING_INDEX_MATCHING_H_
#define MALLOCMUZERO_BASE_TESTING_INDEX_MATCHING_H_

#include <compare>
#include <concepts>
#include <cstdint>

#include "base/index.h"
#include "gmock/gmock.h"

namespace mallocmuzero {

template <typename Tag, std::integral N>
constexpr bool operator==(Index<Tag> index, N number) {
  return int64_t{index.number()} == static_cast<int64_t>(number);
}

template <typename Tag, std::integral N>
constexpr auto operator<=>(Index<Tag> index, N number) {
  return int64_t{index.number()} <=> static_cast<int64_t>(number);
}

// Matches a list of indices with these numbers, like ElementsAre.
template <std::integral... N>
auto IndicesAre(N... numbers) {
  return ::testing::ElementsAre(::testing::Eq(numbers)...);
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_TESTING_INDEX_MATCHING_H_
