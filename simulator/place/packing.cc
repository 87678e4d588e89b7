#include "simulator/place/packing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "simulator/core/hardware.h"

namespace mallocmuzero::place {
namespace {

// In ticks of the heap's clock, both ends included.
struct Life {
  int64_t begin = 0;
  int64_t end = 0;
};

// The lifetimes of all values in ticks of the heap's clock.
std::vector<Life> Tick(absl::Span<const PackedValue> values) {
  struct Events {
    std::vector<int32_t> allocated;
    std::vector<int32_t> freed;
  };
  std::map<int64_t, Events> steps;
  for (const int32_t value : InOrderOfTime(values)) {
    steps[values[value].first].allocated.push_back(value);
    steps[values[value].last].freed.push_back(value);
  }
  std::vector<Life> lives(values.size());
  int64_t clock = 0;
  for (auto& [step, events] : steps) {
    for (const int32_t value : events.allocated) {
      if (values[value].sharing == Sharing::kMay) {
        lives[values[value].shares_with].end = clock++;
        std::erase(events.freed, values[value].shares_with);
      }
      lives[value].begin = clock++;
    }
    for (const int32_t value : events.freed) lives[value].end = clock++;
  }
  return lives;
}

// For each value the one whose bytes it uses in the end: the last of its chain of shares_with.
std::vector<int32_t> FindOwners(absl::Span<const PackedValue> values) {
  constexpr int32_t kUnknown = -1;
  std::vector<int32_t> owners(values.size(), kUnknown);
  std::vector<int32_t> chain;
  for (int32_t value = 0; value < values.size(); ++value) {
    int32_t owner = value;
    chain.clear();
    while (owners[owner] == kUnknown && values[owner].sharing != Sharing::kNone) {
      chain.push_back(owner);
      owner = values[owner].shares_with;
    }
    if (owners[owner] != kUnknown) owner = owners[owner];
    owners[owner] = owner;
    for (const int32_t link : chain) owners[link] = owner;
  }
  return owners;
}

// For each value the lives of all values that use its bytes; empty if it is no owner.
using LivesOfOwners = std::vector<std::vector<Life>>;

// For each owner those before it in `owners` that live at the same time, each once.
std::vector<std::vector<int32_t>> FindEarlierNeighbours(absl::Span<const int32_t> owners,
                                                        const LivesOfOwners& lives_of) {
  struct Stretch {
    Life life;
    int32_t owner = 0;
  };
  std::vector<Stretch> stretches;
  std::vector<int32_t> rank(lives_of.size());
  for (int32_t i = 0; i < owners.size(); ++i) {
    rank[owners[i]] = i;
    for (const Life& life : lives_of[owners[i]]) stretches.push_back({life, owners[i]});
  }
  std::sort(stretches.begin(), stretches.end(),
            [](const Stretch& a, const Stretch& b) { return a.life.begin < b.life.begin; });
  std::vector<std::vector<int32_t>> neighbours(lives_of.size());
  std::vector<Stretch> open;
  for (const Stretch& stretch : stretches) {
    std::erase_if(open, [&](const Stretch& other) { return other.life.end < stretch.life.begin; });
    for (const Stretch& other : open) {
      if (other.owner == stretch.owner) continue;
      const bool is_earlier = rank[other.owner] < rank[stretch.owner];
      const auto [earlier, later] = is_earlier ? std::pair(other.owner, stretch.owner)
                                               : std::pair(stretch.owner, other.owner);
      neighbours[later].push_back(earlier);
    }
    open.push_back(stretch);
  }
  for (std::vector<int32_t>& of_owner : neighbours) {
    std::sort(of_owner.begin(), of_owner.end());
    of_owner.erase(std::unique(of_owner.begin(), of_owner.end()), of_owner.end());
  }
  return neighbours;
}

// The smallest gap between the ranges in `taken` that holds `bytes`, and of equally small ones the
// lowest. `taken` has begins and ends, ascending. Returns the offset in the gap.
int64_t BestGap(const std::vector<std::pair<int64_t, int64_t>>& taken, int64_t bytes,
                int64_t alignment) {
  int64_t best = -1;
  int64_t best_size = std::numeric_limits<int64_t>::max();
  int64_t free_from = 0;
  for (const auto& [offset, end] : taken) {
    const int64_t start = RoundUp(free_from, alignment);
    const int64_t size = offset - start;
    if (size >= bytes && size < best_size) {
      best = start;
      best_size = size;
    }
    free_from = std::max(free_from, end);
  }
  return best >= 0 ? best : RoundUp(free_from, alignment);
}

// The most bytes that live at the same time. Values of one owner count once while their lives
// overlap.
int64_t LiveBytes(absl::Span<const PackedValue> values, const LivesOfOwners& lives_of) {
  std::map<int64_t, int64_t> change;
  for (size_t owner = 0; owner < lives_of.size(); ++owner) {
    std::vector<Life> lives = lives_of[owner];
    std::sort(lives.begin(), lives.end(),
              [](const Life& a, const Life& b) { return a.begin < b.begin; });
    int64_t counted_to = -1;
    for (const Life& life : lives) {
      const int64_t begin = std::max(life.begin, counted_to + 1);
      if (begin > life.end) continue;
      change[begin] += values[owner].bytes;
      change[life.end + 1] -= values[owner].bytes;
      counted_to = life.end;
    }
  }
  int64_t live = 0;
  int64_t most = 0;
  for (const auto& [tick, bytes] : change) most = std::max(most, live += bytes);
  return most;
}

}  // namespace

std::vector<int32_t> InOrderOfTime(absl::Span<const PackedValue> values) {
  std::vector<int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::tuple(values[a].first, values[a].last, a) <
           std::tuple(values[b].first, values[b].last, b);
  });
  return order;
}

PackedHeap Pack(absl::Span<const PackedValue> values, int64_t alignment) {
  const std::vector<Life> lives = Tick(values);
  const std::vector<int32_t> owner_of = FindOwners(values);
  LivesOfOwners lives_of(values.size());
  std::vector<int32_t> owners;
  for (int32_t value = 0; value < values.size(); ++value) {
    lives_of[owner_of[value]].push_back(lives[value]);
    if (owner_of[value] == value) owners.push_back(value);
  }
  std::sort(owners.begin(), owners.end(), [&](int32_t a, int32_t b) {
    return std::tuple(-values[a].bytes, lives[a].begin - lives[a].end, a) <
           std::tuple(-values[b].bytes, lives[b].begin - lives[b].end, b);
  });
  const std::vector<std::vector<int32_t>> neighbours = FindEarlierNeighbours(owners, lives_of);
  PackedHeap heap;
  heap.offsets.resize(values.size());
  std::vector<std::pair<int64_t, int64_t>> taken;
  for (const int32_t owner : owners) {
    taken.clear();
    for (const int32_t other : neighbours[owner]) {
      taken.push_back({heap.offsets[other], heap.offsets[other] + values[other].bytes});
    }
    std::sort(taken.begin(), taken.end());
    heap.offsets[owner] = BestGap(taken, values[owner].bytes, alignment);
    heap.packed_bytes = std::max(heap.packed_bytes, heap.offsets[owner] + values[owner].bytes);
  }
  for (int32_t value = 0; value < values.size(); ++value) {
    heap.offsets[value] = heap.offsets[owner_of[value]];
  }
  heap.live_bytes = LiveBytes(values, lives_of);
  return heap;
}

}  // namespace mallocmuzero::place
