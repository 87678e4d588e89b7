// Draws an index with a probability in proportion to its weight.

#ifndef MALLOCMUZERO_REPLAY_SUM_TREE_H_
#define MALLOCMUZERO_REPLAY_SUM_TREE_H_

#include <cstddef>
#include <vector>

namespace mallocmuzero {

// Weights of indices and their partial sums, each computed anew from its two
// parts, so that errors of rounding do not add up. O(log n) a change and a draw. Not thread-safe.
class SumTree {
 public:
  // All weights are 0.
  explicit SumTree(size_t size);

  size_t size() const { return size_; }
  double total() const { return nodes_[1]; }
  double weight(size_t index) const { return nodes_[leaves_ + index]; }

  // New indices have weight 0. `size` is not below size(). O(n), so let it double.
  void Grow(size_t size);

  // `weight` is finite and not negative.
  void Set(size_t index, double weight);

  // The index in which `point` falls when the weights are laid side by side; one of weight above 0.
  // `point` is in [0, total()), and total() above 0.
  size_t Find(double point) const;

 private:
  size_t size_;
  size_t leaves_;              // where the leaves begin: a power of two
  std::vector<double> nodes_;  // 1: the root; i: the sum of 2i and 2i + 1
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SUM_TREE_H_
