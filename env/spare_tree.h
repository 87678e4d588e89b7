// Numbers by instruction, and the latest instruction from which they add up to a given sum.

#ifndef MALLOCMUZERO_ENV_SPARE_TREE_H_
#define MALLOCMUZERO_ENV_SPARE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/core/indices.h"

namespace mallocmuzero {

// A binary tree over non-negative numbers, all 0 at first; every operation takes logarithmic time.
class SpareTree {
 public:
  explicit SpareTree(uint32_t count) {
    while (leaves_ <= count) leaves_ *= 2;  // more leaves than numbers: no range is all
    nodes_.assign(2 * leaves_, 0);
  }

  double Get(InstructionIndex index) const { return nodes_[leaves_ + index.number()]; }

  void Set(InstructionIndex index, double value) {
    size_t node = leaves_ + index.number();
    nodes_[node] = value;
    for (node /= 2; node > 0; node /= 2) nodes_[node] = nodes_[2 * node] + nodes_[2 * node + 1];
  }

  size_t HeapBytes() const { return nodes_.capacity() * sizeof(nodes_[0]); }

  // The largest index below `end` such that the numbers from it to before `end` sum to at least
  // `wanted`; -1 if there is none.
  InstructionIndex FindFromRight(InstructionIndex end, double wanted) const {
    for (size_t right = leaves_ + end.number(); right > 1; right /= 2) {
      if (right % 2 == 0) continue;
      size_t node = right - 1;
      if (nodes_[node] < wanted) {
        wanted -= nodes_[node];
        continue;
      }
      while (node < leaves_) {
        node = 2 * node + 1;
        if (nodes_[node] < wanted) wanted -= nodes_[node--];
      }
      return InstructionIndex(node - leaves_);
    }
    return -1;
  }

  friend bool operator==(const SpareTree&, const SpareTree&) = default;

 private:
  size_t leaves_ = 1;
  std::vector<double> nodes_;  // root at 1, leaf i at leaves_ + i
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SPARE_TREE_H_
