// For every address of fast memory, the stays that have had it.

#ifndef MALLOCMUZERO_ENV_ADDRESS_HISTORY_H_
#define MALLOCMUZERO_ENV_ADDRESS_HISTORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/index.h"
#include "env/fast_memory.h"

namespace mallocmuzero {

// A stay lies on the stays that had its bytes before it:
//
//      time |  +------+---+
//           |  |  c   |   |  +----+     From 0 on: c, a. Behind c: b. Behind a gap: d.
//           |  +--+---+ b |  | d  |     c lies on a and on a part of b.
//           |  |a |   |   |  |    |
//           +--+--+---+---+--+----+---> address
//
// FastMemory knows the top of this picture only. The search for new addresses must know what lies
// below the stays that it moves, and this is where it finds it without a look at all stays.
//
// Copying takes a snapshot. Sizes and offsets are bytes.
class AddressHistory {
 public:
  static constexpr int32_t kNobody = -1;  // instead of a stay: no stay has had the bytes

  // The bytes from `offset` up to the next piece, and the last stay that had them.
  struct Piece {
    int64_t offset = 0;
    StayIndex stay = kNobody;

    friend bool operator==(const Piece&, const Piece&) = default;
  };

  // No stay has had any of these bytes.
  explicit AddressHistory(int64_t bytes) : bytes_(bytes), top_(1) {}

  // Ascending by offset, without gaps; the last one ends at the end of the memory.
  absl::Span<const Piece> top() const { return top_; }

  // Lays a stay on what had its bytes before. `size` is positive. A stay that was laid before must
  // not be in the picture any more.
  void Lay(StayIndex stay, int64_t offset, int64_t size);

  // Puts `taker` in the place of `giver`, which is on top at `offset` and at all of its bytes.
  void HandOver(StayIndex giver, StayIndex taker, int64_t offset);

  // Takes everything off but these pieces and what lies below them. They ascend by offset; no stay
  // has had the bytes between them.
  struct Uncovered {
    int64_t begin = 0;
    int64_t end = 0;
    StayIndex stay = 0;

    friend bool operator==(const Uncovered&, const Uncovered&) = default;
  };
  void Uncover(absl::Span<const Uncovered> pieces);

  // Goes over all addresses, ascending, from the top down. Calls visit(begin, end, stay) for bytes
  // of a stay, and goes on below these bytes if it returns true. Skips what nobody has had.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    Descend(top_, {0, bytes_}, bytes_, visit);
  }

  size_t HeapBytes() const;

  friend bool operator==(const AddressHistory&, const AddressHistory&) = default;

 private:
  struct Bytes {
    int64_t begin = 0;
    int64_t end = 0;
  };

  // What a stay lies on: some pieces of below_, which end together with the stay.
  struct Base {
    uint32_t first = 0;
    uint32_t count = 0;
    int64_t end = 0;

    friend bool operator==(const Base&, const Base&) = default;
  };

  // Visits the part of some pieces that is within `bytes`.
  template <typename Visit>
  void Descend(absl::Span<const Piece> pieces, Bytes bytes, int64_t pieces_end,
               const Visit& visit) const {
    for (size_t k = IndexOf(pieces, bytes.begin); k < pieces.size(); ++k) {
      const int64_t begin = std::max(bytes.begin, pieces[k].offset);
      const int64_t piece_end = k + 1 < pieces.size() ? pieces[k + 1].offset : pieces_end;
      const int64_t end = std::min(bytes.end, piece_end);
      if (begin >= end) return;
      const StayIndex stay = pieces[k].stay;
      if (stay == kNobody || !visit(begin, end, stay)) continue;
      const Base& base = bases_[stay];
      Descend(absl::MakeConstSpan(below_).subspan(base.first, base.count), {begin, end}, base.end,
              visit);
    }
  }

  // The piece with the byte at `offset`.
  static size_t IndexOf(absl::Span<const Piece> pieces, int64_t offset);

  // Drops pieces that no stay lies on any more if they are more than the others.
  void Compact();

  int64_t bytes_;
  std::vector<Piece> top_;
  IndexVector<StayIndex, Base> bases_;  // by stay
  std::vector<Piece> below_;            // of all bases, in any order
  size_t used_ = 0;                     // pieces of below_ that belong to a base
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_ADDRESS_HISTORY_H_
