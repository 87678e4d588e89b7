// The addresses of fast memory while a game is played: which stay had each address last, and until
// when.

#ifndef MALLOCMUZERO_ENV_FAST_MEMORY_H_
#define MALLOCMUZERO_ENV_FAST_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "base/index.h"
#include "simulator/core/indices.h"

namespace mallocmuzero {

using StayIndex = Index<struct StayTag>;  // into Residency::stays

// The index of the piece that has the byte at `offset`. The pieces of a memory ascend by offset,
// without gaps, and the first one begins at 0. The binary search has no branches, because a
// processor could not predict them.
template <typename Piece>
size_t IndexOfByte(const std::vector<Piece>& pieces, int64_t offset) {
  const Piece* piece = pieces.data();
  for (size_t count = pieces.size(); count > 1;) {
    const size_t half = count / 2;
    piece += piece[half].offset <= offset ? half : 0;
    count -= half;
  }
  return piece - pieces.data();
}

// Accesses are decided in the order of execution, so a new stay is later than all earlier stays at
// its addresses: a skyline. For every address only the last stay matters, and the instruction up to
// which it takes the address. A stay after its last use still owns its region until another stay
// takes the bytes: its value is still there and can be kept for a later access.
//
// Copying takes a snapshot. Sizes and offsets are bytes, multiples of the alignment.
class FastMemory {
 public:
  static constexpr int32_t kNobody = -1;  // owner of a region that holds no value
  static constexpr int32_t kForever = std::numeric_limits<int32_t>::max();

  struct Region {
    int64_t offset = 0;
    InstructionIndex last = -1;  // last instruction for which the addresses are taken, or kForever
    StayIndex owner = kNobody;   // stay whose value the region holds
    InstructionIndex next_use = kForever;  // instruction of the owner's next access, kForever: none

    friend bool operator==(const Region&, const Region&) = default;
  };

  friend bool operator==(const FastMemory&, const FastMemory&) = default;

  explicit FastMemory(int64_t bytes) : bytes_(bytes), regions_(1) {}

  // A memory with these regions. They ascend by offset, the first one begins at 0, and each ends
  // where the next one begins. Takes linear time.
  FastMemory(int64_t bytes, absl::Span<const Region> regions);

  int64_t bytes() const { return bytes_; }

  // Ascending by offset, without gaps; each ends where the next one begins, the last at bytes().
  absl::Span<const Region> regions() const { return regions_; }
  int64_t EndOf(size_t region) const {
    return region + 1 < regions_.size() ? regions_[region + 1].offset : bytes_;
  }

  size_t HeapBytes() const { return regions_.capacity() * sizeof(Region); }

  // An offset for `size` bytes from instruction `first` on; nullopt if there is none. All regions
  // that the bytes touch must be taken only before `first`. Returns an offset where a region
  // begins: the one with the least harm to values that are used again (HarmOf), then the one that
  // leaves the fewest bytes of the last region that it touches, then the lowest. `now` is the
  // current instruction.
  std::optional<int64_t> FindPlace(int64_t size, InstructionIndex first,
                                   InstructionIndex now) const;

  // The number of bytes that are taken only before `first`, contiguous or not.
  int64_t FreeBytes(InstructionIndex first) const;

  // Gives [offset, offset + size) to a stay. The owners of all regions that it touches lose their
  // values; what is left of these regions has no owner and stays taken until their `last`.
  void Occupy(int64_t offset, int64_t size, InstructionIndex last, StayIndex owner);

  // Change the region at `offset`.
  void SetLast(int64_t offset, InstructionIndex last) { RegionAt(offset).last = last; }
  void SetNextUse(int64_t offset, InstructionIndex next_use) {
    RegionAt(offset).next_use = next_use;
  }
  void SetOwner(int64_t offset, StayIndex owner) { RegionAt(offset).owner = owner; }

  // Takes the region at `offset` from its owner. It stays taken until `last`.
  void Release(int64_t offset, InstructionIndex last);

  // The region that holds the byte at `offset`.
  size_t IndexOf(int64_t offset) const { return IndexOfByte(regions_, offset); }
  const Region& At(int64_t offset) const { return regions_[IndexOf(offset)]; }

 private:
  // The harm of overwriting a region: its bytes over the instructions until the next use.
  int64_t HarmOf(size_t region, InstructionIndex now) const;

  // True if HarmOf is more than `harm`. It needs no division. From a harm of 2^31 on it returns
  // false.
  bool HarmsMore(size_t region, int64_t harm, InstructionIndex now) const;

  // The place of FindPlace if it harms nothing, and whether there is any place at all.
  struct Harmless {
    std::optional<int64_t> offset;
    bool has_any = false;
  };
  Harmless FindHarmless(int64_t size, InstructionIndex first, InstructionIndex now) const;

  // The place of FindPlace if every place harms something.
  std::optional<int64_t> FindLeastHarm(int64_t size, InstructionIndex first,
                                       InstructionIndex now) const;

  // Whether two regions side by side are one: nobody owns them, and they are taken equally long.
  static bool AreOne(const Region& a, const Region& b) {
    return a.owner == kNobody && b.owner == kNobody && a.last == b.last;
  }

  Region& RegionAt(int64_t offset) { return regions_[IndexOf(offset)]; }
  void MergeAround(size_t region);

  int64_t bytes_;
  std::vector<Region> regions_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_FAST_MEMORY_H_
