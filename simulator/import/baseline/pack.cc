#include "simulator/import/baseline/pack.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "simulator/core/hardware.h"

namespace mallocmuzero {
namespace {

// The most pairs of blocks of different groups in fast memory at the same time. They take 0.8 GB.
constexpr size_t kMostPairs = size_t{1} << 24;

// The most blocks that are compared with the blocks that begin before them. Blocks of one group
// need no pair, but are compared, too.
constexpr size_t kMostComparisons = size_t{1} << 28;

// Blocks that share one offset.
struct Group {
  std::vector<int32_t> blocks;
  int64_t bytes = 0;     // from the group's offset to the end of its last block
  int64_t duration = 0;  // in instructions, summed over blocks
  uint32_t first = std::numeric_limits<uint32_t>::max();
  // largest offset within the capacity
  int64_t highest_offset = std::numeric_limits<int64_t>::max();
};

class Packer {
 public:
  Packer(absl::Span<const Block> blocks, int64_t capacity, int64_t alignment)
      : blocks_(blocks), capacity_(capacity), alignment_(alignment) {
    for (int32_t b = 0; b < blocks.size(); ++b) {
      const Block& block = blocks[b];
      if (block.group >= groups_.size()) groups_.resize(block.group + 1);
      Group& group = groups_[block.group];
      group.highest_offset = std::min(group.highest_offset, capacity - block.delta - block.bytes);
      group.blocks.push_back(b);
      group.bytes = std::max(group.bytes, block.delta + block.bytes);
      group.duration += block.last - block.first + 1;
      group.first = std::min(group.first, block.first);
    }
  }

  const std::vector<Group>& groups() const { return groups_; }

  // Finds all pairs of blocks of different groups that are in fast memory at the same time. Returns
  // false if such blocks have more bytes than fast memory, or if there are more than kMostPairs or
  // it takes more than kMostComparisons.
  bool FindNeighbours() {
    conflicts_.resize(groups_.size());
    std::vector<int32_t> by_start(blocks_.size());
    std::iota(by_start.begin(), by_start.end(), 0);
    std::sort(by_start.begin(), by_start.end(),
              [&](int32_t a, int32_t b) { return blocks_[a].first < blocks_[b].first; });
    std::vector<int32_t> active;
    size_t pairs = 0;
    size_t comparisons = 0;
    for (const int32_t b : by_start) {
      std::erase_if(active, [&](int32_t a) { return blocks_[a].last < blocks_[b].first; });
      active.push_back(b);
      comparisons += active.size();
      if (comparisons > kMostComparisons || !HaveRoom(active)) return false;
      for (const int32_t a : active) {
        if (blocks_[a].group == blocks_[b].group) continue;
        AddConflict(blocks_[a], blocks_[b]);
        AddConflict(blocks_[b], blocks_[a]);
        ++pairs;
      }
      if (pairs > kMostPairs) return false;
    }
    return true;
  }

  // Conflicts that all calls of Place have looked at.
  int64_t looks() const { return looks_; }

  // which hole to take among those that are large enough
  enum class Fit : uint8_t { kLowest, kTightest };

  // Places the groups in the given order, each into a hole that the groups before it left. If a
  // group does not fit, returns nullopt and sets `failed` to it.
  absl::optional<std::vector<int64_t>> Place(absl::Span<const int32_t> order, Fit fit,
                                             int32_t* failed) {
    std::vector<int64_t> offsets(groups_.size(), -1);
    for (int32_t g : order) {
      offsets[g] = FindOffset(g, fit, offsets);
      if (offsets[g] < 0) {
        *failed = g;
        return absl::nullopt;
      }
    }
    return offsets;
  }

 private:
  // Offsets that one group cannot have because of a block of another group: all strictly between
  // `from` and `to`, relative to the other group's offset.
  struct Conflict {
    int32_t group;
    int64_t from;
    int64_t to;
  };

  // False if blocks of different groups cannot be in fast memory at the same time. Blocks of one
  // group may share bytes: one of them counts.
  bool HaveRoom(absl::Span<const int32_t> active) {
    counted_.resize(groups_.size(), -1);
    int64_t room = capacity_;
    for (const int32_t a : active) {
      int32_t& counted = counted_[blocks_[a].group];
      if (counted == active.back()) continue;
      counted = active.back();
      room -= blocks_[a].bytes;
      if (room < 0) return false;
    }
    return true;
  }

  void AddConflict(const Block& block, const Block& other) {
    conflicts_[block.group].push_back({other.group, other.delta - block.delta - block.bytes,
                                       other.delta + other.bytes - block.delta});
  }

  int64_t FindOffset(int32_t g, Fit fit, absl::Span<const int64_t> offsets) {
    taken_.clear();
    looks_ += static_cast<int64_t>(conflicts_[g].size());
    for (const Conflict& conflict : conflicts_[g]) {
      const int64_t other = offsets[conflict.group];
      if (other >= 0) taken_.push_back({other + conflict.from, other + conflict.to});
    }
    std::sort(taken_.begin(), taken_.end());
    const int64_t highest = groups_[g].highest_offset;
    int64_t best = -1;
    int64_t best_room = std::numeric_limits<int64_t>::max();
    int64_t lowest = 0;  // lowest offset in the hole under consideration
    const auto consider = [&](int64_t last_offset) {
      const int64_t room = std::min(last_offset, highest) - lowest;
      if (room < 0 || room >= best_room || (fit == Fit::kLowest && best >= 0)) return;
      best_room = room;
      best = lowest;
    };
    for (const auto& [from, to] : taken_) {
      consider(from);
      lowest = std::max(lowest, RoundUp(to, alignment_));
    }
    consider(highest);
    return best;
  }

  absl::Span<const Block> blocks_;
  int64_t capacity_;
  int64_t alignment_;
  int64_t looks_ = 0;
  std::vector<Group> groups_;
  std::vector<std::vector<Conflict>> conflicts_;  // for each group
  // scratch space of FindOffset: offsets that are ruled out
  std::vector<std::pair<int64_t, int64_t>> taken_;
  // scratch space of HaveRoom, for each group: the last block that it was counted for
  std::vector<int32_t> counted_;
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

absl::optional<std::vector<int64_t>> PackBlocks(absl::Span<const Block> blocks, int64_t capacity,
                                                int64_t alignment, int max_attempts,
                                                int64_t max_looks) {
  Packer packer(blocks, capacity, alignment);
  if (!packer.FindNeighbours()) return absl::nullopt;
  const auto bytes = [](const Group& g) { return static_cast<double>(g.bytes); };
  const auto duration = [](const Group& g) { return static_cast<double>(g.duration); };
  std::vector<std::vector<int32_t>> orders = {
      OrderBy(packer.groups(), bytes),
      OrderBy(packer.groups(), [&](const Group& g) { return bytes(g) * duration(g); }),
      OrderBy(packer.groups(), duration),
      OrderBy(packer.groups(), [](const Group& g) { return -static_cast<double>(g.first); }),
  };
  // A group that did not fit moves forward in the order, by a random distance so that the search
  // does not repeat itself.
  std::mt19937 random(1);
  for (int attempt = 0; attempt < max_attempts && packer.looks() < max_looks; ++attempt) {
    std::vector<int32_t>& order = orders[attempt % orders.size()];
    const auto fit =
        attempt / orders.size() % 2 == 0 ? Packer::Fit::kTightest : Packer::Fit::kLowest;
    int32_t failed = 0;
    if (auto offsets = packer.Place(order, fit, &failed)) return offsets;
    const auto at = std::find(order.begin(), order.end(), failed);
    const size_t position = at - order.begin();
    std::rotate(order.begin() + random() % (position + 1), at, at + 1);
  }
  return absl::nullopt;
}

}  // namespace mallocmuzero
