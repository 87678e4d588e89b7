// The number of elements of a container, in the 32 bits that messages and indices have for it.

#ifndef MALLOCMUZERO_BASE_SIZE32_H_
#define MALLOCMUZERO_BASE_SIZE32_H_

#include <cassert>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <utility>

namespace mallocmuzero {

// `container` must have fewer than 2^31 elements. Where 64 bits will do, std::ssize needs no limit.
template <std::integral Number = int32_t, typename Container>
constexpr Number Size32(const Container& container) {
  static_assert(sizeof(Number) == sizeof(int32_t));
  assert(std::in_range<int32_t>(std::size(container)));
  return static_cast<Number>(std::size(container));
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_SIZE32_H_
