// Draws an index with a probability in proportion to its weight.

#ifndef MALLOCMUZERO_REPLAY_SUM_TREE_H_
#define MALLOCMUZERO_REPLAY_SUM_TREE_H_

#include <array>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {

// Weights of indices and their partial sums, each computed anew from its parts, so that errors of
// rounding do not add up. O(log n) a change and a draw: eight children a node, a line of the
// processor's cache, since a large tree's time is that of its cache misses. Not thread-safe.
class SumTree {
 public:
  // All weights are 0.
  explicit SumTree(size_t size);

  size_t size() const { return size_; }
  double total() const { return total_; }
  double weight(size_t index) const { return levels_[0][index / kChildren][index % kChildren]; }

  // New indices have weight 0. `size` is not below size(). O(n), so let it double.
  void Grow(size_t size);

  // `weight` is finite and not negative.
  void Set(size_t index, double weight);

  // The index in which `point` falls when the weights are laid side by side; one of weight above 0.
  // `point` is in [0, total()), and total() above 0.
  size_t Find(double point) const;

  // The same for many, whose cache misses then overlap: `indices` is as long as `points`, which are
  // overwritten.
  void Find(absl::Span<double> points, absl::Span<size_t> indices) const;

 private:
  static constexpr size_t kChildren = 8;

  struct alignas(64) Node {
    std::array<double, kChildren> sums{};  // of each child; of a leaf: weights

    double& operator[](size_t child) { return sums[child]; }
    double operator[](size_t child) const { return sums[child]; }
    double Total() const;
  };

  size_t size_;
  std::vector<std::vector<Node>> levels_;  // the leaves first; one node in the last
  double total_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SUM_TREE_H_
