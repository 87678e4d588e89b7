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

std::vector<int32_t> InOrderOfTime(absl::Span<const PackedValue> values) {
  std::vector<int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::tuple(values[a].first, values[a].last, a) <
           std::tuple(values[b].first, values[b].last, b);
  });
  return order;
}

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

// The value whose bytes `value` uses in the end: follows the chain of sharing values.
int32_t OwnerOf(absl::Span<const PackedValue> values, int32_t value) {
  while (values[value].sharing != Sharing::kNone) value = values[value].shares_with;
  return value;
}

bool LiveTogether(const std::vector<Life>& a, const std::vector<Life>& b) {
  for (const Life& x : a) {
    for (const Life& y : b) {
      if (x.begin <= y.end && y.begin <= x.end) return true;
    }
  }
  return false;
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
int64_t LiveBytes(absl::Span<const PackedValue> values,
                  const std::map<int32_t, std::vector<Life>>& lives_of) {
  std::map<int64_t, int64_t> change;
  for (const auto& [owner, all] : lives_of) {
    std::vector<Life> lives = all;
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

PackedHeap Pack(absl::Span<const PackedValue> values, int64_t alignment) {
  const std::vector<Life> lives = Tick(values);
  std::map<int32_t, std::vector<Life>> lives_of;  // for each owner
  for (int32_t value = 0; value < values.size(); ++value) {
    lives_of[OwnerOf(values, value)].push_back(lives[value]);
  }
  std::vector<int32_t> owners;
  for (const auto& [owner, unused] : lives_of) owners.push_back(owner);
  std::sort(owners.begin(), owners.end(), [&](int32_t a, int32_t b) {
    return std::tuple(-values[a].bytes, lives[a].begin - lives[a].end, a) <
           std::tuple(-values[b].bytes, lives[b].begin - lives[b].end, b);
  });
  PackedHeap heap;
  heap.offsets.resize(values.size());
  for (size_t i = 0; i < owners.size(); ++i) {
    const int32_t owner = owners[i];
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (size_t k = 0; k < i; ++k) {
      const int32_t other = owners[k];
      if (!LiveTogether(lives_of[owner], lives_of[other])) continue;
      taken.push_back({heap.offsets[other], heap.offsets[other] + values[other].bytes});
    }
    std::sort(taken.begin(), taken.end());
    heap.offsets[owner] = BestGap(taken, values[owner].bytes, alignment);
    heap.packed_bytes = std::max(heap.packed_bytes, heap.offsets[owner] + values[owner].bytes);
  }
  for (int32_t value = 0; value < values.size(); ++value) {
    heap.offsets[value] = heap.offsets[OwnerOf(values, value)];
  }
  heap.live_bytes = LiveBytes(values, lives_of);
  return heap;
}

}  // namespace mallocmuzero::place
