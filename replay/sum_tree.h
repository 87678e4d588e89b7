// Draws an index with a probability in proportion to its weight.

#ifndef MALLOCMUZERO_REPLAY_SUM_TREE_H_
#define MALLOCMUZERO_REPLAY_SUM_TREE_H_

#include <array>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {

// A tree of partial sums over the weights of `size` indices. Each sum is computed anew from its
// parts, so that rounding errors do not accumulate. Set and Find take O(log size). A node has eight
// children and so fills one cache line, because cache misses dominate the time of a large tree. Not
// thread-safe.
class SumTree {
 public:
  // All weights are 0 at first. `size` is at least 1.
  explicit SumTree(size_t size);

  size_t size() const { return size_; }
  double total() const { return total_; }
  double weight(size_t index) const { return levels_[0][index / kChildren][index % kChildren]; }

  // Enlarges the tree; new indices have weight 0. `size` must not be below size(). Takes O(size),
  // so callers should at least double the size.
  void Grow(size_t size);

  // `weight` must be finite and not negative.
  void Set(size_t index, double weight);

  // Returns the index whose interval contains `point` when the weights are laid side by side. Its
  // weight is above 0. `point` must be in [0, total()) and total() above 0.
  size_t Find(double point) const;

  // Finds the indices of many points together, so that their cache misses overlap. `indices` must
  // be as long as `points`. Overwrites `points`.
  void Find(absl::Span<double> points, absl::Span<size_t> indices) const;

 private:
  static constexpr size_t kChildren = 8;

  struct alignas(64) Node {
    std::array<double, kChildren> sums{};  // of the children; in a leaf, the weights themselves

    double& operator[](size_t child) { return sums[child]; }
    double operator[](size_t child) const { return sums[child]; }
    double Total() const;
  };

  size_t size_;
  std::vector<std::vector<Node>> levels_;  // leaves first; the last level is the root node alone
  double total_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SUM_TREE_H_
