// Enumerators as numbers, and arrays that enumerators address.

#ifndef MALLOCMUZERO_BASE_ENUMS_H_
#define MALLOCMUZERO_BASE_ENUMS_H_

#include <array>
#include <cstddef>
#include <type_traits>

namespace mallocmuzero {

// As std::to_underlying of C++23.
template <typename E>
requires std::is_enum_v<E>
constexpr std::underlying_type_t<E> Underlying(E enumerator) {
  return static_cast<std::underlying_type_t<E>>(enumerator);
}

// An array with one element for each enumerator of E. The enumerators must be 0 to count - 1.
template <typename E, typename T, size_t count>
struct EnumArray {
  std::array<T, count> elements = {};

  constexpr T& operator[](E enumerator) { return elements[Underlying(enumerator)]; }
  constexpr const T& operator[](E enumerator) const { return elements[Underlying(enumerator)]; }

  friend bool operator==(const EnumArray&, const EnumArray&) = default;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_ENUMS_H_
