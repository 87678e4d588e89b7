#include "env/address_history.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace mallocmuzero {
namespace {

// Fewer unused pieces are not worth the time to drop them.
constexpr size_t kFewPieces = 256;

}  // namespace

size_t AddressHistory::IndexOf(absl::Span<const Piece> pieces, int64_t offset) {
  const auto after =
      std::upper_bound(pieces.begin(), pieces.end(), offset,
                       [](int64_t value, const Piece& piece) { return value < piece.offset; });
  return after - pieces.begin() - 1;
}

void AddressHistory::Lay(StayIndex stay, int64_t offset, int64_t size) {
  const int64_t end = offset + size;
  assert(offset >= 0 && size > 0 && end <= bytes_);
  const size_t from = IndexOf(top_, offset);
  size_t to = from;  // exclusive
  while (to < top_.size() && top_[to].offset < end) ++to;
  const int64_t covered_end = to < top_.size() ? top_[to].offset : bytes_;

  if (bases_.end_index() <= stay) bases_.resize(stay + 1);
  used_ -= std::exchange(bases_[stay], Base()).count;
  if (below_.size() > 2 * used_ + kFewPieces) Compact();
  bases_[stay] = {.first = static_cast<uint32_t>(below_.size()),
                  .count = static_cast<uint32_t>(to - from),
                  .end = end};
  used_ += to - from;
  below_.insert(below_.end(), top_.begin() + from, top_.begin() + to);
  below_[bases_[stay].first].offset = offset;

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

void AddressHistory::HandOver(StayIndex giver, StayIndex taker, int64_t offset) {
  Piece& piece = top_[IndexOf(top_, offset)];
  assert(piece.offset == offset && piece.stay == giver);
  piece.stay = taker;
  if (bases_.end_index() <= taker) bases_.resize(taker + 1);
  bases_[taker] = std::exchange(bases_[giver], Base());
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
  std::vector<Piece> kept;
  kept.reserve(2 * used_ + kFewPieces);
  for (Base& base : bases_) {
    const auto first = static_cast<uint32_t>(kept.size());
    const auto begin = below_.begin() + base.first;
    kept.insert(kept.end(), begin, begin + base.count);
    base.first = first;
  }
  below_ = std::move(kept);
}

size_t AddressHistory::HeapBytes() const {
  const auto bytes = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
  return bytes(top_) + bytes(bases_) + bytes(below_);
}

}  // namespace mallocmuzero
