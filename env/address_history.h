// For every address of fast memory, the stays that have had it.

#ifndef MALLOCMUZERO_ENV_ADDRESS_HISTORY_H_
#define MALLOCMUZERO_ENV_ADDRESS_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/index.h"
#include "base/shared_vector.h"
#include "env/fast_memory.h"

namespace mallocmuzero {

// A stay lies on the stays that had its bytes before it:
//
//      time |     +------+
//           |     |  c   |     +----+     The stay c lies on a part of a, on bytes that no other
//           |  +--+-+ +--+--+  | d  |     stay has had, and on a part of b.
//           |  | a  | |  b  |  |    |
//           +--+----+-+-----+--+----+---> address
//
// FastMemory knows the top of this picture only. The search for new addresses must know what lies
// below the stays that it moves, and finds it here without a look at all stays.
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

  // Bytes of a stay.
  struct Uncovered {
    int64_t begin = 0;
    int64_t end = 0;
    StayIndex stay = 0;

    friend bool operator==(const Uncovered&, const Uncovered&) = default;
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

  // Takes everything off but these pieces and what lies below them. They ascend by offset, and no
  // stay has had the bytes between them.
  void Uncover(absl::Span<const Uncovered> pieces);

  // Goes over all addresses, ascending, from the top down. Calls visit(begin, end, stay) for bytes
  // of a stay, and goes on below these bytes if it returns true. Skips bytes that no stay has had.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    // No recursion: a pile of stays can be as high as the program is long.
    std::vector<Uncovered> pending;  // bytes below visited ones, the next ones last
    for (size_t k = 0; k < top_.size(); ++k) {
      const int64_t end = k + 1 < top_.size() ? top_[k + 1].offset : bytes_;
      pending.push_back({top_[k].offset, end, top_[k].stay});
      while (!pending.empty()) {
        const Uncovered bytes = pending.back();
        pending.pop_back();
        if (bytes.stay == kNobody || !visit(bytes.begin, bytes.end, bytes.stay)) continue;
        AddBelow(bytes, pending);
      }
    }
  }

  // Bytes on the heap, and the part of them that copies do not share.
  size_t HeapBytes() const;
  size_t CopyBytes() const;

  friend bool operator==(const AddressHistory&, const AddressHistory&) = default;

 private:
  using BelowIndex = Index<struct BelowTag>;  // into below_

  // The pieces of below_ that a stay lies on. They end together with the stay.
  struct Base {
    BelowIndex first = 0;
    uint32_t count = 0;
    int64_t end = 0;

    friend bool operator==(const Base&, const Base&) = default;
  };

  // Adds what lies below bytes of a stay, the lowest address last.
  void AddBelow(const Uncovered& bytes, std::vector<Uncovered>& pieces) const;

  void SetBase(StayIndex stay, absl::Span<const Piece> pieces, int64_t offset, int64_t end);
  void PutBase(StayIndex stay, const Base& base);

  // Drops pieces that no stay lies on any more, if more than half of all pieces are of this kind.
  void Compact();

  int64_t bytes_;
  std::vector<Piece> top_;
  SharedVector<StayIndex, Base> bases_;    // by stay
  SharedVector<BelowIndex, Piece> below_;  // of all bases, in any order
  size_t used_ = 0;                        // pieces of below_ that belong to a base
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_ADDRESS_HISTORY_H_
