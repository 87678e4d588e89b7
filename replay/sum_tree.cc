#include "replay/sum_tree.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace mallocmuzero {

double SumTree::Node::Total() const { return std::accumulate(sums.begin(), sums.end(), 0.0); }

SumTree::SumTree(size_t size) : size_(size) {
  assert(size > 0);
  size_t nodes = size;
  do {
    nodes = (nodes + kChildren - 1) / kChildren;
    levels_.emplace_back(nodes);
  } while (nodes > 1);
}

void SumTree::Grow(size_t size) {
  assert(size >= size_);
  SumTree grown(size);
  std::copy(levels_[0].begin(), levels_[0].end(), grown.levels_[0].begin());
  for (size_t level = 1; level < grown.levels_.size(); ++level) {
    const std::vector<Node>& below = grown.levels_[level - 1];
    for (size_t i = 0; i < below.size(); ++i) {
      grown.levels_[level][i / kChildren][i % kChildren] = below[i].Total();
    }
  }
  grown.total_ = grown.levels_.back()[0].Total();
  *this = std::move(grown);
}

void SumTree::Set(size_t index, double weight) {
  assert(index < size_ && weight >= 0);
  double sum = weight;
  for (std::vector<Node>& level : levels_) {
    Node& node = level[index / kChildren];
    node[index % kChildren] = sum;
    sum = node.Total();
    index /= kChildren;
  }
  total_ = sum;
}

size_t SumTree::Find(double point) const {
  size_t index = 0;
  Find(absl::MakeSpan(&point, 1), absl::MakeSpan(&index, 1));
  return index;
}

void SumTree::Find(absl::Span<double> points, absl::Span<size_t> indices) const {
  assert(total() > 0 && points.size() == indices.size());
  std::fill(indices.begin(), indices.end(), 0);
  for (size_t level = levels_.size(); level-- > 0;) {
    for (size_t i = 0; i < points.size(); ++i) {
      const Node& node = levels_[level][indices[i]];
      // Rounding may push a point past the last weight. `chosen` then stays at the last child that
      // has weight, so the descent never enters an empty subtree.
      size_t chosen = 0;
      for (size_t child = 0; child < kChildren; ++child) {
        if (node[child] <= 0) continue;
        chosen = child;
        if (points[i] < node[child]) break;
        points[i] -= node[child];
      }
      indices[i] = indices[i] * kChildren + chosen;
      if (level > 0) __builtin_prefetch(&levels_[level - 1][indices[i]]);
    }
  }
}

}  // namespace mallocmuzero
