#include "env/address_history.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/size32.h"

namespace mallocmuzero {
namespace {

// Fewer unused pieces are not worth the time to drop them.
constexpr size_t kFewPieces = 256;

}  // namespace

void AddressHistory::Lay(StayIndex stay, int64_t offset, int64_t size) {
  const int64_t end = offset + size;
  assert(offset >= 0 && size > 0 && end <= bytes_);
  const size_t from = IndexOfByte(top_, offset);
  size_t to = from;  // exclusive
  while (to < top_.size() && top_[to].offset < end) ++to;
  const int64_t covered_end = to < top_.size() ? top_[to].offset : bytes_;
  SetBase(stay, absl::MakeConstSpan(top_).subspan(from, to - from), offset, end);

  Piece pieces[3];
  size_t count = 0;
  if (top_[from].offset < offset) pieces[count++] = top_[from];
  pieces[count++] = {offset, stay};
  if (covered_end > end) pieces[count++] = {end, top_[to - 1].stay};
  const size_t replaced = to - from;
  if (count > replaced) {
    top_.insert(top_.begin() + from, count - replaced, Piece());
  } else {
    top_.erase(top_.begin() + from, top_.begin() + (from + replaced - count));
  }
  std::copy_n(pieces, count, top_.begin() + from);
}

void AddressHistory::AddBelow(const Uncovered& bytes, std::vector<Uncovered>& pieces) const {
  const Base& base = bases_[bytes.stay];
  int64_t piece_end = base.end;
  for (uint32_t k = base.count; k-- > 0 && piece_end > bytes.begin;) {
    const Piece& piece = below_[base.first + k];
    const int64_t begin = std::max(bytes.begin, piece.offset);
    const int64_t end = std::min(bytes.end, piece_end);
    if (begin < end) pieces.push_back({begin, end, piece.stay});
    piece_end = piece.offset;
  }
}

// The first of the pieces counts from `offset` on.
void AddressHistory::SetBase(StayIndex stay, absl::Span<const Piece> pieces, int64_t offset,
                             int64_t end) {
  if (stay < bases_.end_index()) {
    used_ -= bases_[stay].count;
    bases_.Mutable(stay) = Base();
    if (below_.size() > 2 * used_ + kFewPieces) Compact();
  }
  PutBase(stay, {.first = below_.end_index(), .count = Size32<uint32_t>(pieces), .end = end});
  used_ += pieces.size();
  for (const Piece& piece : pieces) below_.push_back({std::max(piece.offset, offset), piece.stay});
}

void AddressHistory::PutBase(StayIndex stay, const Base& base) {
  while (bases_.end_index() < stay) bases_.push_back(Base());
  if (stay < bases_.end_index()) {
    bases_.Mutable(stay) = base;
  } else {
    bases_.push_back(base);
  }
}

void AddressHistory::HandOver(StayIndex giver, StayIndex taker, int64_t offset) {
  Piece& piece = top_[IndexOfByte(top_, offset)];
  assert(piece.offset == offset && piece.stay == giver);
  piece.stay = taker;
  PutBase(taker, std::exchange(bases_.Mutable(giver), Base()));
}

void AddressHistory::Uncover(absl::Span<const Uncovered> pieces) {
  top_.clear();
  int64_t end = 0;
  for (const Uncovered& piece : pieces) {
    assert(end <= piece.begin && piece.begin < piece.end);
    if (end < piece.begin) top_.push_back({end, kNobody});
    const bool goes_on = end == piece.begin && !top_.empty() && top_.back().stay == piece.stay;
    if (!goes_on) top_.push_back({piece.begin, piece.stay});
    end = piece.end;
  }
  if (end < bytes_) top_.push_back({end, kNobody});
}

void AddressHistory::Compact() {
  SharedVector<BelowIndex, Piece> kept;
  for (const StayIndex stay : bases_.indices()) {
    const Base base = bases_[stay];
    bases_.Mutable(stay).first = kept.end_index();
    for (uint32_t k = 0; k < base.count; ++k) kept.push_back(below_[base.first + k]);
  }
  below_ = std::move(kept);
}

size_t AddressHistory::HeapBytes() const {
  return top_.capacity() * sizeof(Piece) + bases_.HeapBytes() + below_.HeapBytes();
}

size_t AddressHistory::CopyBytes() const {
  return top_.capacity() * sizeof(Piece) + bases_.CopyBytes() + below_.CopyBytes();
}

}  // namespace mallocmuzero
