#include "env/fast_memory.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <limits>

#include "absl/container/fixed_array.h"

namespace mallocmuzero {

FastMemory::FastMemory(int64_t bytes, absl::Span<const Region> regions) : bytes_(bytes) {
  for (const Region& region : regions) {
    if (regions_.empty() || !AreOne(regions_.back(), region)) regions_.push_back(region);
  }
}

int64_t FastMemory::HarmOf(size_t region, InstructionIndex now) const {
  const Region& lost = regions_[region];
  if (lost.next_use == kForever) return 0;
  // Equal to the quotient of integers for sizes below 2^53, and faster.
  return static_cast<int64_t>(static_cast<double>(EndOf(region) - lost.offset) /
                              static_cast<double>(lost.next_use - now + 1));
}

bool FastMemory::HarmsMore(size_t region, int64_t harm, InstructionIndex now) const {
  const Region& lost = regions_[region];
  if (lost.next_use == kForever || harm >= kForever) return false;
  const int64_t instructions = lost.next_use - now + 1;
  return EndOf(region) - lost.offset >= (harm + 1) * instructions;
}

std::optional<int64_t> FastMemory::FindPlace(int64_t size, InstructionIndex first,
                                             InstructionIndex now) const {
  const auto [harmless, has_any] = FindHarmless(size, first, now);
  return harmless || !has_any ? harmless : FindLeastHarm(size, first, now);
}

// A window of regions [begin, r] slides over the memory. It begins behind the last region that is
// taken or would be harmed.
FastMemory::Harmless FastMemory::FindHarmless(int64_t size, InstructionIndex first,
                                              InstructionIndex now) const {
  Harmless found;
  int64_t least_rest = std::numeric_limits<int64_t>::max();
  int64_t free_from = 0;  // all regions between this offset and the end of region r are free
  size_t begin = 0;
  for (size_t r = 0; r < regions_.size(); ++r) {
    const Region& region = regions_[r];
    const int64_t end = EndOf(r);
    if (region.last >= first) {
      free_from = end;
      begin = r + 1;
      continue;
    }
    found.has_any |= end - free_from >= size;
    if (HarmsMore(r, 0, now)) begin = r + 1;
    for (; begin <= r && end - regions_[begin].offset >= size; ++begin) {
      const int64_t rest = end - regions_[begin].offset - size;
      if (rest >= least_rest) continue;
      least_rest = rest;
      found.offset = regions_[begin].offset;
      if (rest == 0) return found;
    }
  }
  return found;
}

// A window of regions [begin, end) slides over the memory. It is the shortest that has `size`
// bytes.
std::optional<int64_t> FastMemory::FindLeastHarm(int64_t size, InstructionIndex first,
                                                 InstructionIndex now) const {
  absl::FixedArray<int64_t, 256> harms(regions_.size());  // by region, valid inside the window
  std::optional<int64_t> best;
  int64_t best_harm = 0;
  int64_t best_rest = 0;
  int64_t harm = 0;
  size_t end = 0;
  for (size_t begin = 0; begin < regions_.size(); ++begin) {
    const int64_t offset = regions_[begin].offset;
    if (offset + size > bytes_) break;
    while (end < regions_.size() && regions_[end].offset < offset + size) {
      if (regions_[end].last >= first) break;
      if (best && HarmsMore(end, best_harm, now)) break;
      harms[end] = HarmOf(end, now);
      harm += harms[end++];
    }
    if (end < regions_.size() && regions_[end].offset < offset + size) {
      begin = end++;  // this region is taken or costs too much: go on behind it
      harm = 0;
      continue;
    }
    const int64_t rest = EndOf(end - 1) - offset - size;
    if (!best || harm < best_harm || (harm == best_harm && rest < best_rest)) {
      best = offset;
      best_harm = harm;
      best_rest = rest;
    }
    harm -= harms[begin];
  }
  return best;
}

int64_t FastMemory::FreeBytes(InstructionIndex first) const {
  int64_t free = 0;
  for (size_t r = 0; r < regions_.size(); ++r) {
    if (regions_[r].last < first) free += EndOf(r) - regions_[r].offset;
  }
  return free;
}

void FastMemory::Occupy(int64_t offset, int64_t size, InstructionIndex last, StayIndex owner) {
  const int64_t end = offset + size;
  assert(offset >= 0 && end <= bytes_);
  size_t from = IndexOf(offset);
  size_t to = from;  // exclusive
  while (to < regions_.size() && regions_[to].offset < end) ++to;
  Region pieces[3];
  size_t count = 0;
  if (regions_[from].offset < offset) {
    pieces[count] = regions_[from];
    pieces[count].owner = kNobody;
    pieces[count++].next_use = kForever;
  }
  const size_t own = from + count;
  pieces[count++] = {offset, last, owner, kForever};
  if (EndOf(to - 1) > end) {
    pieces[count] = regions_[to - 1];
    pieces[count].offset = end;
    pieces[count].owner = kNobody;
    pieces[count++].next_use = kForever;
  }
  const size_t replaced = to - from;
  if (count > replaced) {
    regions_.insert(regions_.begin() + from, count - replaced, Region());
  } else {
    regions_.erase(regions_.begin() + from, regions_.begin() + (from + replaced - count));
  }
  std::copy_n(pieces, count, regions_.begin() + from);
  MergeAround(own + 1);
  if (own > 0) MergeAround(own - 1);
}

void FastMemory::Release(int64_t offset, InstructionIndex last) {
  const size_t index = IndexOf(offset);
  regions_[index].owner = kNobody;
  regions_[index].next_use = kForever;
  regions_[index].last = last;
  MergeAround(index);
}

void FastMemory::MergeAround(size_t region) {
  const auto alike = [this](size_t a, size_t b) {
    return b < regions_.size() && AreOne(regions_[a], regions_[b]);
  };
  if (alike(region, region + 1)) {
    regions_.erase(regions_.begin() + region + 1);
  }
  if (region > 0 && alike(region - 1, region)) {
    regions_.erase(regions_.begin() + region);
  }
}

}  // namespace mallocmuzero
