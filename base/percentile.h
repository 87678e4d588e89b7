// The one definition of a percentile that the project uses.

#ifndef MALLOCMUZERO_BASE_PERCENTILE_H_
#define MALLOCMUZERO_BASE_PERCENTILE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "base/rounding.h"

namespace mallocmuzero {

// The nearest rank: the percentile of a share is the least value that at least this share of the
// values do not exceed. It is always one of the values. A share of 0 gives the least value, and 1
// the greatest one. A share of 0.5 gives the median; an even number of values has two in the
// middle, and the lower one counts. This is method 1 of Hyndman and Fan (1996), and `inverted_cdf`
// in numpy.
//
// Returns the index of the percentile among `count` >= 1 values in ascending order. `share` is from
// 0 to 1.
inline int64_t PercentileIndex(double share, int64_t count) {
  const int64_t rank = RoundToZero(std::ceil(share * static_cast<double>(count)));
  return std::clamp<int64_t>(rank, 1, count) - 1;
}

// The percentile of values in any order; 0 if there is none. NaN, as a damaged file may hold it,
// counts as greater than every number.
inline double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto place = values.begin() + PercentileIndex(share, std::ssize(values));
  std::nth_element(values.begin(), place, values.end(),
                   [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
  return *place;
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_PERCENTILE_H_
