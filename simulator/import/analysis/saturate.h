// Sums of sizes that come from outside, without overflow.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_SATURATE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_SATURATE_H_

#include <cstdint>

namespace mallocmuzero {

// a + b for a, b >= 0, but at most INT64_MAX. The size of each array fits into 64 bits; the sum of
// sizes may not.
inline int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_SATURATE_H_
