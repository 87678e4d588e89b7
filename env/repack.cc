#include "env/repack.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace mallocmuzero {
namespace {

struct Bytes {
  int64_t begin = 0;
  int64_t end = 0;
};

class Packer {
 public:
  Packer(const std::vector<AddressBlock>& blocks, int64_t capacity, bool keep_values)
      : capacity_(capacity) {
    InstructionIndex earliest = std::numeric_limits<int32_t>::max();
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      if (!blocks[b].moves) continue;
      movers_.push_back({b, blocks[b].bytes});
      earliest = std::min(earliest, blocks[b].first);
    }
    // In a long game most blocks end before the first block that moves begins.
    std::vector<uint32_t> fixed;
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      if (!blocks[b].moves && blocks[b].kept_until >= earliest) fixed.push_back(b);
    }
    std::stable_sort(movers_.begin(), movers_.end(),
                     [](const Mover& a, const Mover& b) { return a.bytes > b.bytes; });
    std::sort(fixed.begin(), fixed.end(),
              [&](uint32_t a, uint32_t b) { return blocks[a].offset < blocks[b].offset; });
    const auto meet = [&](uint32_t a, uint32_t b) {
      const bool is_wanted = a + 1 == blocks.size() || b + 1 == blocks.size();
      const auto end = [&](const AddressBlock& block) {
        return keep_values || !is_wanted ? block.kept_until : block.last;
      };
      return blocks[a].first <= end(blocks[b]) && blocks[b].first <= end(blocks[a]);
    };
    for (Mover& mover : movers_) {
      for (const uint32_t b : fixed) {
        if (!meet(mover.block, b)) continue;
        const Bytes bytes = {blocks[b].offset, blocks[b].offset + blocks[b].bytes};
        if (mover.taken.empty() || mover.taken.back().end < bytes.begin) {
          mover.taken.push_back(bytes);
        } else {
          mover.taken.back().end = std::max(mover.taken.back().end, bytes.end);
        }
      }
      for (uint32_t m = 0; m < movers_.size(); ++m) {
        const uint32_t b = movers_[m].block;
        if (b != mover.block && meet(mover.block, b)) mover.neighbours.push_back(m);
      }
    }
  }

  // True if all blocks that move get a place.
  bool Pack(int attempts) {
    std::vector<size_t> order(movers_.size());
    for (size_t m = 0; m < order.size(); ++m) order[m] = m;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      const size_t placed = PlaceInOrder(order);
      if (placed == order.size()) return true;
      if (placed == 0) return false;  // only blocks that do not move are in its way
      std::rotate(order.begin(), order.begin() + placed, order.begin() + placed + 1);
    }
    return false;
  }

  void MoveBlocks(std::vector<AddressBlock>& blocks) const {
    for (const Mover& mover : movers_) blocks[mover.block].offset = *mover.offset;
  }

 private:
  struct Mover {
    uint32_t block = 0;
    int64_t bytes = 0;
    std::optional<int64_t> offset;     // none: not placed yet
    std::vector<Bytes> taken;          // taken by blocks that do not move, ascending
    std::vector<uint32_t> neighbours;  // blocks that move and are there at the same time
  };

  // Returns the number of blocks that found a place. If it is less than all, the next one found
  // none.
  size_t PlaceInOrder(const std::vector<size_t>& order) {
    for (Mover& mover : movers_) mover.offset.reset();
    for (size_t k = 0; k < order.size(); ++k) {
      if (!Place(movers_[order[k]])) return k;
    }
    return order.size();
  }

  bool Place(Mover& mover) {
    taken_ = mover.taken;
    for (const uint32_t n : mover.neighbours) {
      const Mover& other = movers_[n];
      if (other.offset) taken_.push_back({*other.offset, *other.offset + other.bytes});
    }
    const auto placed = taken_.begin() + mover.taken.size();
    const auto by_begin = [](const Bytes& a, const Bytes& b) { return a.begin < b.begin; };
    std::sort(placed, taken_.end(), by_begin);
    std::inplace_merge(taken_.begin(), placed, taken_.end(), by_begin);
    int64_t offset = 0;
    for (const Bytes& bytes : taken_) {
      if (bytes.begin - offset >= mover.bytes) break;
      offset = std::max(offset, bytes.end);
    }
    if (offset + mover.bytes > capacity_) return false;
    mover.offset = offset;
    return true;
  }

  const int64_t capacity_;
  std::vector<Mover> movers_;
  std::vector<Bytes> taken_;
};

}  // namespace

bool Repack(std::vector<AddressBlock>& blocks, int64_t capacity, bool keep_values, int attempts) {
  Packer packer(blocks, capacity, keep_values);
  if (!packer.Pack(attempts)) return false;
  packer.MoveBlocks(blocks);
  return true;
}

}  // namespace mallocmuzero
