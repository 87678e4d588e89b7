#include "simulator/import/pack.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace mallocmuzero {
namespace {

int64_t RoundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Blocks that share an offset.
struct Group {
  std::vector<int32_t> blocks;
  int64_t bytes = 0;     // of the largest
  int64_t duration = 0;  // instructions, summed
  uint32_t first = std::numeric_limits<uint32_t>::max();
  int64_t ceiling = 0;  // capacity at the tightest instruction it lives at
};

class Packer {
 public:
  Packer(absl::Span<const Block> blocks, absl::Span<const int64_t> capacity_at, int64_t alignment)
      : blocks_(blocks), alignment_(alignment) {
    for (int32_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].group >= groups_.size()) groups_.resize(blocks[b].group + 1);
      Group& group = groups_[blocks[b].group];
      const auto begin = capacity_at.begin() + blocks[b].first;
      const int64_t ceiling =
          *std::min_element(begin, begin + (blocks[b].last - blocks[b].first) + 1);
      group.ceiling = group.blocks.empty() ? ceiling : std::min(group.ceiling, ceiling);
      group.blocks.push_back(b);
      group.bytes = std::max(group.bytes, blocks[b].bytes);
      group.duration += blocks[b].last - blocks[b].first + 1;
      group.first = std::min(group.first, blocks[b].first);
    }
    FindNeighbours();
  }

  int32_t group_count() const { return static_cast<int32_t>(groups_.size()); }
  const std::vector<Group>& groups() const { return groups_; }

  // Places the groups in that order, each where the hole left by those placed before is tightest.
  // On failure returns the group that did not fit in `failed`.
  absl::optional<std::vector<int64_t>> Place(absl::Span<const int32_t> order, int32_t* failed) {
    std::vector<int64_t> offsets(groups_.size(), -1);
    for (int32_t g : order) {
      offsets[g] = BestOffset(g, offsets);
      if (offsets[g] < 0) {
        *failed = g;
        return absl::nullopt;
      }
    }
    return offsets;
  }

 private:
  // Pairs of groups that are in fast memory at the same time.
  void FindNeighbours() {
    neighbours_.resize(groups_.size());
    std::vector<int32_t> by_start(blocks_.size());
    std::iota(by_start.begin(), by_start.end(), 0);
    std::sort(by_start.begin(), by_start.end(),
              [&](int32_t a, int32_t b) { return blocks_[a].first < blocks_[b].first; });
    std::vector<int32_t> active;
    for (int32_t b : by_start) {
      std::erase_if(active, [&](int32_t a) { return blocks_[a].last < blocks_[b].first; });
      for (int32_t a : active) {
        const int32_t one = blocks_[a].group;
        const int32_t two = blocks_[b].group;
        if (one == two) continue;
        neighbours_[one].push_back(two);
        neighbours_[two].push_back(one);
      }
      active.push_back(b);
    }
    for (auto& list : neighbours_) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  int64_t BestOffset(int32_t g, absl::Span<const int64_t> offsets) {
    taken_.clear();
    for (int32_t n : neighbours_[g]) {
      if (offsets[n] >= 0) taken_.push_back({offsets[n], offsets[n] + groups_[n].bytes});
    }
    std::sort(taken_.begin(), taken_.end());
    const Group& group = groups_[g];
    int64_t best = -1;
    int64_t best_hole = std::numeric_limits<int64_t>::max();
    int64_t free_from = 0;
    const auto consider = [&](int64_t free_to) {
      if (free_to - free_from < group.bytes || free_from + group.bytes > group.ceiling) return;
      if (free_to - free_from >= best_hole) return;
      best_hole = free_to - free_from;
      best = free_from;
    };
    for (const auto& [from, to] : taken_) {
      consider(from);
      free_from = std::max(free_from, RoundUp(to, alignment_));
    }
    consider(group.ceiling);
    return best;
  }

  absl::Span<const Block> blocks_;
  int64_t alignment_;
  std::vector<Group> groups_;
  std::vector<std::vector<int32_t>> neighbours_;  // by group, ascending
  std::vector<std::pair<int64_t, int64_t>> taken_;
};

std::vector<int32_t> OrderBy(const std::vector<Group>& groups,
                             const std::function<double(const Group&)>& key) {
  std::vector<int32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return key(groups[a]) > key(groups[b]); });
  return order;
}

}  // namespace

absl::optional<std::vector<int64_t>> PackBlocks(absl::Span<const Block> blocks,
                                                absl::Span<const int64_t> capacity_at,
                                                int64_t alignment, int max_attempts) {
  Packer packer(blocks, capacity_at, alignment);
  const auto bytes = [](const Group& g) { return static_cast<double>(g.bytes); };
  const auto duration = [](const Group& g) { return static_cast<double>(g.duration); };
  std::vector<std::vector<int32_t>> orders = {
      OrderBy(packer.groups(), bytes),
      OrderBy(packer.groups(), [&](const Group& g) { return bytes(g) * duration(g); }),
      OrderBy(packer.groups(), duration),
      OrderBy(packer.groups(), [](const Group& g) { return -static_cast<double>(g.first); }),
  };
  int32_t failed = 0;
  for (const auto& order : orders) {
    if (auto offsets = packer.Place(order, &failed)) return offsets;
  }
  // What did not fit goes earlier; a little noise keeps the search from going in circles.
  std::mt19937 random(1);
  std::vector<int32_t> order = orders[1];
  for (int attempt = static_cast<int>(orders.size()); attempt < max_attempts; ++attempt) {
    if (auto offsets = packer.Place(order, &failed)) return offsets;
    const auto at = std::find(order.begin(), order.end(), failed);
    const auto position = static_cast<size_t>(at - order.begin());
    std::rotate(order.begin() + static_cast<std::ptrdiff_t>(random() % (position + 1)), at, at + 1);
  }
  return absl::nullopt;
}

}  // namespace mallocmuzero
