// Numbers by instruction, and the latest instruction from which they add up to a given sum.

#ifndef MALLOCMUZERO_ENV_SPARE_TREE_H_
#define MALLOCMUZERO_ENV_SPARE_TREE_H_

#include <cstddef>
#include <cstdint>

#include "base/index.h"
#include "base/shared_vector.h"
#include "simulator/core/indices.h"

namespace mallocmuzero {

// A binary tree over non-negative numbers, all 0 at first; every operation takes logarithmic time.
class SpareTree {
 public:
  explicit SpareTree(uint32_t count) {
    while (leaves_ <= count) leaves_ *= 2;  // more leaves than numbers: no range is the whole tree
    nodes_ = SharedVector<Node, double>(2 * leaves_, 0);
  }

  double Get(InstructionIndex index) const { return At(leaves_ + index.number()); }

  void Set(InstructionIndex index, double value) {
    size_t node = leaves_ + index.number();
    nodes_.Mutable(Node(node)) = value;
    for (node /= 2; node > 0; node /= 2) {
      nodes_.Mutable(Node(node)) = At(2 * node) + At(2 * node + 1);
    }
  }

  size_t HeapBytes() const { return nodes_.HeapBytes(); }
  size_t CopyBytes() const { return nodes_.CopyBytes(); }

  // The largest index below `end` such that the numbers from it to before `end` sum to at least
  // `wanted`; -1 if there is none.
  InstructionIndex FindFromRight(InstructionIndex end, double wanted) const {
    for (size_t right = leaves_ + end.number(); right > 1; right /= 2) {
      if (right % 2 == 0) continue;
      size_t node = right - 1;
      if (At(node) < wanted) {
        wanted -= At(node);
        continue;
      }
      while (node < leaves_) {
        node = 2 * node + 1;
        if (At(node) < wanted) wanted -= At(node--);
      }
      return InstructionIndex(node - leaves_);
    }
    return -1;
  }

  friend bool operator==(const SpareTree&, const SpareTree&) = default;

 private:
  using Node = Index<struct SpareNodeTag>;

  double At(size_t node) const { return nodes_[Node(node)]; }

  size_t leaves_ = 1;
  SharedVector<Node, double> nodes_;  // root at 1, leaf i at leaves_ + i
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SPARE_TREE_H_
