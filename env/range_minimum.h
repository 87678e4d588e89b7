// The least of a range of numbers in constant time.

#ifndef MALLOCMUZERO_ENV_RANGE_MINIMUM_H_
#define MALLOCMUZERO_ENV_RANGE_MINIMUM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace mallocmuzero {

// A sparse table: n log n numbers. If all values are equal, as on chips whose instructions take no
// fast memory for themselves, one number.
class RangeMinimum {
 public:
  RangeMinimum() = default;

  // `values` must not be empty.
  explicit RangeMinimum(std::vector<int64_t> values) {
    if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end()) {
      values.resize(1);
      uniform_ = true;
    }
    levels_.push_back(std::move(values));
    for (size_t width = 1; 2 * width <= levels_[0].size(); width *= 2) {
      const std::vector<int64_t>& below = levels_.back();
      std::vector<int64_t> level(levels_[0].size() - 2 * width + 1);
      for (size_t i = 0; i < level.size(); ++i) level[i] = std::min(below[i], below[i + width]);
      levels_.push_back(std::move(level));
    }
  }

  // Least of the values at [first, last], inclusive.
  int64_t Min(uint32_t first, uint32_t last) const {
    if (uniform_) return levels_[0][0];
    const int level = 31 - __builtin_clz(last - first + 1);
    const std::vector<int64_t>& row = levels_[level];
    return std::min(row[first], row[last + 1 - (uint32_t{1} << level)]);
  }

 private:
  bool uniform_ = false;
  std::vector<std::vector<int64_t>> levels_;  // level l, entry i: least of [i, i + 2^l)
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_RANGE_MINIMUM_H_
