// The addresses of fast memory while a game is played: who was there last, and until when.

#ifndef MALLOCMUZERO_ENV_FAST_MEMORY_H_
#define MALLOCMUZERO_ENV_FAST_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {

// Accesses are decided in the order of time, so whatever is placed now lies, in time, above all
// that was placed before: a skyline. Of every address only the last stay matters, and until when it
// took the address. A stay that has ended keeps its region as long as nobody else takes it: its
// value is still there, and may be kept.
//
// A value, like the game. Sizes and offsets are bytes, multiples of the alignment.
class FastMemory {
 public:
  static constexpr int32_t kNobody = -1;
  static constexpr int32_t kForever = std::numeric_limits<int32_t>::max();

  struct Region {
    int64_t offset = 0;
    int32_t last = -1;            // instruction up to which the addresses are taken, kForever: open
    int32_t owner = kNobody;      // stay whose value is here
    int32_t next_use = kForever;  // instruction of the owner's next access, kForever: none

    friend bool operator==(const Region&, const Region&) = default;
  };

  friend bool operator==(const FastMemory&, const FastMemory&) = default;

  explicit FastMemory(int64_t bytes) : bytes_(bytes), regions_(1) {}

  int64_t bytes() const { return bytes_; }

  // Ascending by offset, without gaps; each ends where the next one begins, the last at bytes().
  absl::Span<const Region> regions() const { return regions_; }
  int64_t EndOf(size_t region) const {
    return region + 1 < regions_.size() ? regions_[region + 1].offset : bytes_;
  }

  size_t HeapBytes() const { return regions_.capacity() * sizeof(Region); }

  // An offset for `size` bytes from instruction `first` on, below `limit`; nullopt if there is
  // none. Regions taken before `first` only may be used. Of several it takes the one that costs
  // least: values that are used again, weighed by how soon, then bytes left over beside it.
  std::optional<int64_t> FindPlace(int64_t size, int32_t first, int32_t now) const;

  // Bytes below `limit` that are not taken at or after `first`, in however many pieces.
  int64_t FreeBytes(int32_t first) const;

  // Gives [offset, offset + size) to a stay. The owners of all regions that it touches lose their
  // values; what is left of these regions has no owner and stays taken until their `last`.
  void Occupy(int64_t offset, int64_t size, int32_t last, int32_t owner);

  // Change the region of the stay at `offset`.
  void SetLast(int64_t offset, int32_t last) { RegionAt(offset).last = last; }
  void SetNextUse(int64_t offset, int32_t next_use) { RegionAt(offset).next_use = next_use; }
  void SetOwner(int64_t offset, int32_t owner) { RegionAt(offset).owner = owner; }

  // The value of the stay at `offset` is lost; the region is taken until `last` still.
  void Release(int64_t offset, int32_t last);

  // The region that holds the byte at `offset`.
  size_t IndexOf(int64_t offset) const;
  const Region& At(int64_t offset) const { return regions_[IndexOf(offset)]; }

 private:
  // What is lost with the value of a region: its bytes, the less the later they are used again.
  int64_t HarmOf(size_t region, int32_t now) const;

  // Whether that is more than `harm`; without a division, and not above 2^31, where it says no.
  bool HarmsMore(size_t region, int64_t harm, int32_t now) const;
  Region& RegionAt(int64_t offset) { return regions_[IndexOf(offset)]; }
  void MergeAround(size_t region);

  int64_t bytes_;
  std::vector<Region> regions_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_FAST_MEMORY_H_
