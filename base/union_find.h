// Disjoint sets of numbers.

#ifndef MALLOCMUZERO_BASE_UNION_FIND_H_
#define MALLOCMUZERO_BASE_UNION_FIND_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/size32.h"

namespace mallocmuzero {

// The numbers from 0 on. Each is a set of its own until Union joins it with others.
class UnionFind {
 public:
  explicit UnionFind(size_t size = 0) { Grow(size); }

  // Adds numbers, so that there are `size` of them. There must not be more already.
  void Grow(size_t size) {
    const int32_t old_size = Size32(parent_);
    parent_.resize(size);
    std::iota(parent_.begin() + old_size, parent_.end(), old_size);
  }

  // The least number of the set that has `x`.
  int32_t Find(int32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }

  // Joins the sets that have `a` and `b`.
  void Union(int32_t a, int32_t b) {
    a = Find(a);
    b = Find(b);
    if (a > b) std::swap(a, b);
    parent_[b] = a;
  }

 private:
  std::vector<int32_t> parent_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_UNION_FIND_H_
