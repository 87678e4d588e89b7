#include "replay/sum_tree.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <utility>

namespace mallocmuzero {

SumTree::SumTree(size_t size) : size_(size), leaves_(std::bit_ceil(size)), nodes_(2 * leaves_, 0) {
  assert(size > 0);
}

void SumTree::Grow(size_t size) {
  assert(size >= size_);
  SumTree grown(size);
  std::copy_n(nodes_.begin() + leaves_, size_, grown.nodes_.begin() + grown.leaves_);
  for (size_t node = grown.leaves_ - 1; node >= 1; --node) {
    grown.nodes_[node] = grown.nodes_[2 * node] + grown.nodes_[2 * node + 1];
  }
  *this = std::move(grown);
}

void SumTree::Set(size_t index, double weight) {
  assert(index < size_ && weight >= 0);
  size_t node = leaves_ + index;
  nodes_[node] = weight;
  for (node /= 2; node >= 1; node /= 2) nodes_[node] = nodes_[2 * node] + nodes_[2 * node + 1];
}

size_t SumTree::Find(double point) const {
  assert(total() > 0);
  size_t node = 1;
  while (node < leaves_) {
    node *= 2;
    // Rounding may leave a point behind the last weight: never go where there is none.
    if (point >= nodes_[node] && nodes_[node + 1] > 0) {
      point -= nodes_[node];
      ++node;
    }
  }
  return node - leaves_;
}

}  // namespace mallocmuzero
