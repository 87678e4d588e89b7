// The largest numbers of a sequence.

#ifndef MALLOCMUZERO_BASE_LARGEST_H_
#define MALLOCMUZERO_BASE_LARGEST_H_

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {

// The indices of the `most` largest numbers, or of all numbers if there are fewer: the largest
// first, equal ones in their order. No number may be NaN.
inline std::vector<size_t> Largest(absl::Span<const double> numbers, size_t most) {
  std::vector<size_t> indices(numbers.size());
  std::iota(indices.begin(), indices.end(), size_t{0});
  const size_t count = std::min(most, indices.size());
  std::partial_sort(indices.begin(), indices.begin() + count, indices.end(),
                    [&](size_t a, size_t b) {
                      return numbers[a] != numbers[b] ? numbers[a] > numbers[b] : a < b;
                    });
  indices.resize(count);
  return indices;
}

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_LARGEST_H_
