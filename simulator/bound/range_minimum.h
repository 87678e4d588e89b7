// The smallest entry of any range of an array, in constant time.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_RANGE_MINIMUM_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_RANGE_MINIMUM_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/index.h"
#include "simulator/core/indices.h"

namespace mallocmuzero::bound {

// A sparse table: row k has the minimum of each 2^k neighbouring entries. Build takes time
// O(n log n) and keeps its memory for the next call.
class RangeMinimum {
 public:
  void Build(IndexSpan<InstructionIndex, const double> entries) {
    const size_t n = entries.size();
    const size_t row_count = std::bit_width(n);
    rows_.resize(row_count);
    for (size_t k = 0; k < row_count; ++k) {
      IndexVector<InstructionIndex, double>& row = rows_[k];
      if (k == 0) {
        row.assign(entries.begin(), entries.end());
        continue;
      }
      const IndexVector<InstructionIndex, double>& below = rows_[k - 1];
      const size_t half = size_t{1} << (k - 1);
      row.resize(n - 2 * half + 1);
      for (const InstructionIndex i : row.indices()) row[i] = std::min(below[i], below[i + half]);
    }
  }

  // The minimum of the entries from `begin` to `end`, exclusive; infinity if there are none.
  double Minimum(InstructionIndex begin, InstructionIndex end) const {
    if (begin >= end) return std::numeric_limits<double>::infinity();
    const size_t k = std::bit_width(uint32_t(end - begin)) - 1;
    return std::min(rows_[k][begin], rows_[k][end - (size_t{1} << k)]);
  }

  // The index of a minimum of a range that is not empty. Takes time O(log n).
  InstructionIndex IndexOfMinimum(InstructionIndex begin, InstructionIndex end) const {
    const double minimum = Minimum(begin, end);
    size_t k = std::bit_width(uint32_t(end - begin)) - 1;
    InstructionIndex at = rows_[k][begin] == minimum ? begin : end - (uint32_t{1} << k);
    for (; k > 0; --k) {
      const uint32_t half = uint32_t{1} << (k - 1);
      if (rows_[k - 1][at] != minimum) at += half;
    }
    return at;
  }

 private:
  std::vector<IndexVector<InstructionIndex, double>> rows_;
};

}  // namespace mallocmuzero::bound

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_RANGE_MINIMUM_H_
