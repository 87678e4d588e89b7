#include "simulator/place/packing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace mallocmuzero::place {
namespace {

constexpr PackingOrder kOrders[] = {PackingOrder::kSize, PackingOrder::kDuration,
                                    PackingOrder::kArea, PackingOrder::kStart, PackingOrder::kEnd};

int64_t RoundUp(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

class LifeFinder {
 public:
  LifeFinder(const Program& program, const Mapping& mapping)
      : program_(program), mapping_(mapping) {}

  PackedArray::Life LifeOf(uint32_t index) const {
    const Interval& it = mapping_.intervals[index];
    const bool written = it.copy_in_start < 0 && !it.cross_program_prefetch;
    PackedArray::Life life;
    life.first = written ? RunTime(it.first) : StartTime(it.first);
    if (it.cross_program_prefetch) life.first = 0;
    life.last = life.first;
    ExtendToDone(it.copy_in_start, it.copy_in_done, life);
    ExtendToDone(it.copy_out_start, it.copy_out_done, life);
    for (const uint32_t a : program_.AccessesOfBuffer(it.buffer)) {
      const uint32_t instruction = program_.accesses()[a].instruction;
      if (mapping_.in_fast_memory[a] == 0 || instruction < it.first || instruction > it.last) {
        continue;
      }
      life.last = std::max(life.last, RunTime(LastPass(it, instruction)));
    }
    for (const CarriedGroup& group : program_.carried_groups()) {
      const Loop& loop = program_.loops()[group.loop];
      ExtendTo(it, group.initial_buffer, loop.begin, life);
      ExtendTo(it, group.root_buffer, loop.end, life);
    }
    return life;
  }

 private:
  static int64_t RunTime(uint32_t instruction) { return 4 * int64_t{instruction} + 3; }
  static int64_t StartTime(uint32_t point) { return 4 * int64_t{point} + 1; }

  static void ExtendToDone(int32_t start, int32_t done, PackedArray::Life& life) {
    if (start < 0) return;
    life.last = std::max(life.last, 4 * int64_t{done} + (done > start ? 0 : 2));
  }

  void ExtendTo(const Interval& it, uint32_t buffer, uint32_t marker,
                PackedArray::Life& life) const {
    if (it.buffer != buffer || it.first > marker || it.last < marker) return;
    life.last = std::max(life.last, RunTime(marker));
  }

  // A value that is used in a loop that began after the interval must stay for all passes of the
  // loop.
  uint32_t LastPass(const Interval& it, uint32_t instruction) const {
    uint32_t last = instruction;
    for (int32_t loop = program_.instructions()[instruction].loop; loop >= 0;
         loop = program_.loops()[loop].parent) {
      if (it.first <= program_.loops()[loop].begin) last = program_.loops()[loop].end;
    }
    return last;
  }

  const Program& program_;
  const Mapping& mapping_;
};

class Joined {
 public:
  explicit Joined(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0U); }
  uint32_t Find(uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  void Join(uint32_t a, uint32_t b) {
    parent_[std::max(Find(a), Find(b))] = std::min(Find(a), Find(b));
  }

 private:
  std::vector<uint32_t> parent_;
};

int32_t IntervalAt(const Mapping& mapping, uint32_t buffer, uint32_t instruction) {
  for (size_t k = 0; k < mapping.intervals.size(); ++k) {
    const Interval& it = mapping.intervals[k];
    if (it.buffer == buffer && it.first <= instruction && instruction <= it.last) {
      return static_cast<int32_t>(k);
    }
  }
  return -1;
}

// Joins the intervals of groups that are in fast memory.
void JoinGroups(const Program& program, const Mapping& mapping, Joined& joined) {
  for (const CarriedGroup& group : program.carried_groups()) {
    const Loop& loop = program.loops()[group.loop];
    const int32_t parameter = IntervalAt(mapping, group.parameter_buffer, loop.begin);
    if (parameter < 0) continue;
    for (const auto& [buffer, marker] :
         {std::pair(group.initial_buffer, loop.begin), std::pair(group.root_buffer, loop.end),
          std::pair(group.result_buffer, loop.end)}) {
      const int32_t other = IntervalAt(mapping, buffer, marker);
      if (other >= 0) joined.Join(static_cast<uint32_t>(parameter), static_cast<uint32_t>(other));
    }
  }
}

struct Placed {
  int64_t offset = 0;
  int64_t end = 0;
  const PackedArray* array = nullptr;
};

bool LiveTogether(const PackedArray& a, const PackedArray& b) {
  for (const PackedArray::Life& x : a.lives) {
    for (const PackedArray::Life& y : b.lives) {
      if (x.first <= y.last && y.first <= x.last) return true;
    }
  }
  return false;
}

// From the begin of an array's first life to the end of its last.
PackedArray::Life Extent(const PackedArray& array) {
  PackedArray::Life extent{.first = std::numeric_limits<int64_t>::max(), .last = 0};
  for (const PackedArray::Life& life : array.lives) {
    extent.first = std::min(extent.first, life.first);
    extent.last = std::max(extent.last, life.last);
  }
  return extent;
}

// The lowest of the smallest gaps between `taken` (ascending by offset) that holds `bytes`.
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

}  // namespace

std::vector<PackedArray> PackedArrays(const Program& program, const Mapping& mapping) {
  Joined joined(mapping.intervals.size());
  JoinGroups(program, mapping, joined);
  const LifeFinder finder(program, mapping);
  std::map<uint32_t, PackedArray> by_root;
  for (uint32_t k = 0; k < mapping.intervals.size(); ++k) {
    PackedArray& array = by_root[joined.Find(k)];
    array.bytes = std::max(array.bytes, program.buffers()[mapping.intervals[k].buffer].bytes);
    array.lives.push_back(finder.LifeOf(k));
    array.intervals.push_back(k);
  }
  std::vector<PackedArray> arrays;
  for (auto& [root, array] : by_root) arrays.push_back(std::move(array));
  return arrays;
}

std::vector<int64_t> PackInOrder(absl::Span<const PackedArray> arrays, PackingOrder order,
                                 int64_t alignment, int64_t& heap_bytes) {
  const auto key = [&](uint32_t i) {
    const int64_t bytes = arrays[i].bytes;
    const int64_t life = Extent(arrays[i]).last - Extent(arrays[i]).first + 1;
    const double area = static_cast<double>(bytes) * static_cast<double>(life);
    switch (order) {
      case PackingOrder::kSize:
        return std::tuple(static_cast<double>(-bytes), -life, i);
      case PackingOrder::kDuration:
        return std::tuple(static_cast<double>(-life), -bytes, i);
      case PackingOrder::kArea:
        return std::tuple(-area, int64_t{0}, i);
      case PackingOrder::kStart:
        return std::tuple(static_cast<double>(Extent(arrays[i]).first), -bytes, i);
      case PackingOrder::kEnd:
        return std::tuple(static_cast<double>(Extent(arrays[i]).last), -bytes, i);
    }
    return std::tuple(0.0, int64_t{0}, i);
  };
  std::vector<uint32_t> sorted(arrays.size());
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::sort(sorted.begin(), sorted.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  std::vector<int64_t> offsets(arrays.size(), 0);
  std::vector<Placed> placed;
  heap_bytes = 0;
  for (const uint32_t i : sorted) {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const Placed& other : placed) {
      if (LiveTogether(arrays[i], *other.array)) taken.push_back({other.offset, other.end});
    }
    std::sort(taken.begin(), taken.end());
    offsets[i] = BestGap(taken, arrays[i].bytes, alignment);
    placed.push_back({offsets[i], offsets[i] + arrays[i].bytes, &arrays[i]});
    heap_bytes = std::max(heap_bytes, placed.back().end);
  }
  return offsets;
}

int64_t PackedBytes(const Program& program, const Mapping& mapping) {
  const std::vector<PackedArray> arrays = PackedArrays(program, mapping);
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const PackingOrder order : kOrders) {
    int64_t bytes = 0;
    PackInOrder(arrays, order, program.hardware().fast_memory_alignment_bytes(), bytes);
    least = std::min(least, bytes);
  }
  return least;
}

int64_t LiveBytes(absl::Span<const PackedArray> arrays) {
  std::map<int64_t, int64_t> change;
  for (const PackedArray& array : arrays) {
    for (const PackedArray::Life& life : array.lives) {
      change[life.first] += array.bytes;
      change[life.last + 1] -= array.bytes;
    }
  }
  int64_t live = 0;
  int64_t most = 0;
  for (const auto& [time, bytes] : change) most = std::max(most, live += bytes);
  return most;
}

}  // namespace mallocmuzero::place
