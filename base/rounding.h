// Real numbers as whole numbers.

#ifndef MALLOCMUZERO_BASE_ROUNDING_H_
#define MALLOCMUZERO_BASE_ROUNDING_H_

#include <cstdint>
#include <limits>

namespace mallocmuzero {

// The number without its fraction, that is, rounded towards zero. A number that does not fit into
// 64 signed bits gives the nearest one that does, and NaN gives 0.
constexpr int64_t RoundToZero(double number) {
  constexpr double kLimit = 0x1p63;
  if (number >= kLimit) return std::numeric_limits<int64_t>::max();
  if (number < -kLimit) return std::numeric_limits<int64_t>::min();
  return number != number ? 0 : static_cast<int64_t>(number);
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_ROUNDING_H_
