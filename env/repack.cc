#include "env/repack.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/types/span.h"

namespace mallocmuzero {
namespace {

struct Bytes {
  int64_t begin = 0;
  int64_t end = 0;
};

// When a block is there: it is taken up to `last`, and taken or kept up to `end`.
struct Times {
  InstructionIndex first = 0;
  InstructionIndex last = 0;
  InstructionIndex end = 0;
  bool takes_kept = false;  // it may have bytes that others only keep
};

// Whether two blocks must not share a byte.
bool Meet(const Times& a, const Times& b) {
  if (a.takes_kept || b.takes_kept) return a.first <= b.last && b.first <= a.last;
  return a.first <= b.end && b.first <= a.end;
}

class Packer {
 public:
  Packer(const std::vector<AddressBlock>& blocks, int64_t capacity) : capacity_(capacity) {
    const auto times = [&](uint32_t b) {
      return Times{.first = blocks[b].first, .last = blocks[b].last, .end = blocks[b].kept_until};
    };
    InstructionIndex earliest = std::numeric_limits<int32_t>::max();
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      if (!blocks[b].moves) continue;
      movers_.push_back({.block = b, .bytes = blocks[b].bytes, .times = times(b)});
      earliest = std::min(earliest, blocks[b].first);
    }
    fixed_.reserve(blocks.size());
    // In a long game most blocks end before the first block that moves begins.
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].moves || blocks[b].kept_until < earliest) continue;
      fixed_.push_back({{blocks[b].offset, blocks[b].offset + blocks[b].bytes}, times(b)});
    }
    std::stable_sort(movers_.begin(), movers_.end(),
                     [](const Mover& a, const Mover& b) { return a.bytes > b.bytes; });
    SortFixed();
    FindGroupEnds();
    while (movers_[wanted_].block + 1 != blocks.size()) ++wanted_;
  }

  // True if all blocks that move get a place. False, too, where that takes too many steps. May be
  // called once more, with another `keep_values`.
  bool Pack(bool keep_values, int attempts) {
    Restart(keep_values);
    if (!WantedFitsAlone()) return false;
    std::vector<size_t> order(movers_.size());
    for (size_t m = 0; m < order.size(); ++m) order[m] = m;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      const size_t placed = PlaceInOrder(order);
      if (placed == order.size()) return true;
      if (placed == 0) return false;  // only blocks that do not move are in its way
      // More attempts that get so far take longer than a look at whether any can succeed.
      if (attempt == 0 && 4 * placed > order.size() && IsHopeless()) return false;
      if (IsTooLong()) return false;
      std::rotate(order.begin(), order.begin() + placed, order.begin() + placed + 1);
    }
    return false;
  }

  // The steps of the last call of Pack.
  int64_t steps() const { return steps_; }

  void MoveBlocks(std::vector<AddressBlock>& blocks) const {
    for (const Mover& mover : movers_) blocks[mover.block].offset = mover.offset;
  }

 private:
  struct Mover {
    uint32_t block = 0;
    int64_t bytes = 0;
    Times times;
    int64_t offset = 0;         // once it is placed
    bool counts_taken = false;  // whether the steps have what FindTaken takes
    bool knows_taken = false;   // whether the next two have been found
    size_t taken_begin = 0;     // in taken_: what blocks that do not move take, ascending
    size_t taken_end = 0;
  };

  // A block that has its place.
  struct Placed {
    Bytes bytes;
    Times times;
  };

  // So many blocks are skipped at once if a mover comes after all of them.
  static constexpr size_t kGroup = 8;

  static bool IsBelow(const Placed& a, const Placed& b) { return a.bytes.begin < b.bytes.begin; }

  // Nearly all of these blocks come in ascending order. Those up to the last descent are sorted.
  void SortFixed() {
    const auto is_above = [](const Placed& a, const Placed& b) { return IsBelow(b, a); };
    const auto sorted = std::is_sorted_until(fixed_.rbegin(), fixed_.rend(), is_above).base();
    std::sort(fixed_.begin(), sorted, &IsBelow);
    std::inplace_merge(fixed_.begin(), sorted, fixed_.end(), &IsBelow);
  }

  void FindGroupEnds() {
    for (size_t k = 0; k < fixed_.size(); ++k) {
      if (k % kGroup == 0) group_ends_.push_back(fixed_[k].times.end);
      group_ends_.back() = std::max(group_ends_.back(), fixed_[k].times.end);
    }
  }

  // Only the wanted block meets others in another way than in the call of Pack before. For all
  // other blocks, what FindTaken has found still holds.
  void Restart(bool keep_values) {
    steps_ = 0;
    for (Mover& mover : movers_) mover.counts_taken = false;
    Mover& wanted = movers_[wanted_];
    wanted.times.takes_kept = !keep_values;
    wanted.knows_taken = false;
  }

  // A search that fails is the usual case. It often does so because of blocks that do not move.
  bool WantedFitsAlone() {
    placed_.clear();
    return Place(movers_[wanted_]);
  }

  bool IsTooLong() const { return steps_ > kMostRepackSteps; }

  // Whether some block has no place in any order; false if it takes too long to see. A block that
  // has been there for long mostly has one gap only, so that it takes the middle of the gap
  // wherever it goes. No other block can have these bytes.
  bool IsHopeless() {
    placed_.clear();
    std::vector<size_t> order(movers_.size());
    for (size_t m = 0; m < order.size(); ++m) order[m] = m;
    std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      if ((a == wanted_) != (b == wanted_)) return b == wanted_;
      return movers_[a].times.first < movers_[b].times.first;
    });
    for (const size_t m : order) {
      if (IsTooLong()) return false;
      Mover& mover = movers_[m];
      Bytes gap;
      int gaps = 0;
      ForEachGap(mover, [&](const Bytes& found) {
        gap = found;
        return ++gaps < 2;
      });
      if (gaps == 0) return true;
      const Bytes middle = {gap.end - mover.bytes, gap.begin + mover.bytes};
      if (gaps == 1 && middle.begin < middle.end) Keep({middle, mover.times});
    }
    return false;
  }

  // Returns the number of blocks that found a place. If it is less than all, the next one found
  // none, or the search takes too long.
  size_t PlaceInOrder(const std::vector<size_t>& order) {
    placed_.clear();
    for (size_t k = 0; k < order.size(); ++k) {
      if (IsTooLong() || !Place(movers_[order[k]])) return k;
    }
    return order.size();
  }

  // A block that FindTaken skips counts as a step, too, and so does what it need not find again:
  // where a search gives up is part of the rules.
  absl::Span<const Bytes> TakenFor(Mover& mover) {
    if (!mover.counts_taken) steps_ += std::ssize(fixed_);
    mover.counts_taken = true;
    if (!mover.knows_taken) FindTaken(mover);
    return absl::MakeConstSpan(taken_).subspan(mover.taken_begin,
                                               mover.taken_end - mover.taken_begin);
  }

  // Most of the time of a search for addresses passes here. As long as the taken bytes have no gap,
  // the loops use only the vectors of the blocks that do not move.
  void FindTaken(Mover& mover) {
    mover.knows_taken = true;
    mover.taken_begin = taken_.size();
    const Times times = mover.times;
    Bytes run = {-1, -1};
    for (size_t group = 0; group < group_ends_.size(); ++group) {
      if (group_ends_[group] < times.first) continue;
      const size_t end = std::min(fixed_.size(), (group + 1) * kGroup);
      for (size_t k = group * kGroup; k < end; ++k) {
        const Placed& fixed = fixed_[k];
        if (!Meet(times, fixed.times)) continue;
        if (fixed.bytes.begin > run.end) {
          if (run.end >= 0) taken_.push_back(run);
          run = fixed.bytes;
        } else {
          run.end = std::max(run.end, fixed.bytes.end);
        }
      }
    }
    if (run.end >= 0) taken_.push_back(run);
    mover.taken_end = taken_.size();
  }

  // Calls visit(gap) for the gaps between taken bytes that are large enough for the mover,
  // ascending, until it returns false.
  template <typename Visit>
  void ForEachGap(Mover& mover, const Visit& visit) {
    const absl::Span<const Bytes> taken = TakenFor(mover);
    auto fixed = taken.begin();
    int64_t offset = 0;
    // Goes on behind the bytes; false if the visit ends here.
    const auto step_over = [&](const Bytes& bytes) {
      if (bytes.begin - offset >= mover.bytes && !visit({offset, bytes.begin})) return false;
      offset = std::max(offset, bytes.end);
      return true;
    };
    for (const Placed& other : placed_) {
      ++steps_;
      if (!Meet(mover.times, other.times)) continue;
      while (fixed != taken.end() && fixed->begin <= other.bytes.begin) {
        if (!step_over(*fixed++)) return;
      }
      if (!step_over(other.bytes)) return;
    }
    while (fixed != taken.end()) {
      if (!step_over(*fixed++)) return;
    }
    step_over({capacity_, capacity_});
  }

  // Takes the lowest gap that is large enough. Returns false if there is none.
  bool Place(Mover& mover) {
    bool is_found = false;
    ForEachGap(mover, [&](const Bytes& gap) {
      mover.offset = gap.begin;
      is_found = true;
      return false;
    });
    if (!is_found) return false;
    Keep({{mover.offset, mover.offset + mover.bytes}, mover.times});
    return true;
  }

  void Keep(const Placed& placed) {
    const auto place = std::upper_bound(placed_.begin(), placed_.end(), placed, &IsBelow);
    steps_ += placed_.end() - place;
    placed_.insert(place, placed);
  }

  const int64_t capacity_;
  int64_t steps_ = 0;  // of one Pack: looks at other blocks, and blocks that an insertion shifts
  std::vector<Mover> movers_;                 // the largest first
  size_t wanted_ = 0;                         // of movers_
  std::vector<Placed> fixed_;                 // blocks that do not move, ascending by offset
  std::vector<InstructionIndex> group_ends_;  // by kGroup blocks of fixed_: the latest end
  std::vector<Bytes> taken_;                  // of all movers
  std::vector<Placed> placed_;                // taken by blocks that move, ascending by offset
};

// Tells of a search, and moves the blocks if they are packed.
bool Finish(const Packer& packer, bool is_packed, std::vector<AddressBlock>& blocks,
            int64_t* steps) {
  if (steps != nullptr) *steps = packer.steps();
  if (is_packed) packer.MoveBlocks(blocks);
  return is_packed;
}

}  // namespace

bool Repack(std::vector<AddressBlock>& blocks, int64_t capacity, bool keep_values, int attempts,
            int64_t* steps) {
  Packer packer(blocks, capacity);
  const bool is_packed = packer.Pack(keep_values, attempts);
  return Finish(packer, is_packed, blocks, steps);
}

bool RepackEitherWay(std::vector<AddressBlock>& blocks, int64_t capacity, int attempts,
                     int64_t* steps) {
  Packer packer(blocks, capacity);
  const bool is_packed = packer.Pack(true, attempts) || packer.Pack(false, attempts);
  return Finish(packer, is_packed, blocks, steps);
}

}  // namespace mallocmuzero
