// Where values go in fast memory, and who makes room for them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "env/game.h"
#include "env/repack.h"

namespace mallocmuzero {
namespace {

// Orders in which values are packed anew before a place is given up.
constexpr int kAttempts = 8;

}  // namespace

// Addresses are nobody's decision: where free bytes would do that are in pieces, values move, back
// to when they came, before a place is refused.
std::optional<int64_t> Game::FindPlace(int64_t bytes, int32_t first, int32_t until, int64_t limit) {
  const auto find = [&] { return memory_.FindPlace(bytes, first, limit, instruction_); };
  const std::optional<int64_t> offset = find();
  if (offset || memory_.FreeBytes(first, limit) < bytes) return offset;
  const AddressBlock wanted = {.bytes = bytes, .limit = limit, .first = first, .last = until};
  return MakePlace(wanted) ? find() : std::nullopt;
}

bool Game::MakePlace(AddressBlock wanted) {
  std::vector<int32_t> stays;
  std::vector<AddressBlock> blocks = FindBlocks(stays);
  for (size_t b = 0; b < blocks.size(); ++b) {
    AddressBlock& block = blocks[b];
    block.moves = block.last >= wanted.first && MayMove(stays[b]);
    if (block.moves) block.limit = LimitOf(block, stays_[stays[b]]);
  }
  wanted.kept_until = wanted.last;
  wanted.moves = true;
  blocks.push_back(wanted);
  if (!Repack(blocks, true, kAttempts)) {
    const bool keeps_a_value = std::any_of(blocks.begin(), blocks.end(), [&](const auto& block) {
      return !block.moves && block.last < wanted.first && wanted.first <= block.kept_until;
    });
    if (!keeps_a_value || !Repack(blocks, false, kAttempts)) return false;
  }
  blocks.pop_back();
  MoveStays(blocks, stays);
  return true;
}

// What is said of the value that is being decided holds where it is.
bool Game::MayMove(int32_t stay) const {
  const uint32_t buffer = program().accesses()[access_].buffer;
  const int32_t group = rules_->access(access_).take_over;
  if (stays_[stay].cross_program_prefetch || buffers_[buffer].stay == stay) return false;
  if (group == ProgramRules::kNone) return true;
  return buffers_[program().carried_groups()[group].initial_buffer].stay != stay;
}

// One block a stay; those of a group that have handed their bytes over are one. `stays` gets the
// last stay of each.
std::vector<AddressBlock> Game::FindBlocks(std::vector<int32_t>& stays) const {
  std::vector<AddressBlock> blocks;
  std::vector<size_t> block_of(stays_.size());
  for (size_t s = 0; s < stays_.size(); ++s) {
    const Stay& stay = stays_[s];
    if (stay.handed_over_by >= 0) {
      block_of[s] = block_of[stay.handed_over_by];
    } else {
      block_of[s] = blocks.size();
      const int64_t bytes = rules_->buffer(stay.buffer).bytes;
      blocks.push_back({.offset = stay.offset, .bytes = bytes, .first = stay.first});
      stays.push_back(0);
    }
    stays[block_of[s]] = static_cast<int32_t>(s);
    blocks[block_of[s]].last = blocks[block_of[s]].kept_until = stay.taken_until;
  }
  const auto keep = [&](int32_t stay) {
    if (stay < 0) return;
    AddressBlock& block = blocks[block_of[stay]];
    block.kept_until = std::max(block.last, instruction_);
  };
  for (const FastMemory::Region& region : memory_.regions()) {
    if (region.next_use != FastMemory::kForever) keep(region.owner);
  }
  // Of these the next use is not an access of their buffer, or is what is being decided.
  for (size_t g = 0; g < groups_.size(); ++g) {
    const uint32_t initial = program().carried_groups()[g].initial_buffer;
    if (groups_[g] == GroupSpace::kOpen) keep(buffers_[initial].stay);
  }
  keep(buffers_[program().accesses()[access_].buffer].stay);
  return blocks;
}

// Below which a block may move whose last stay this is.
int64_t Game::LimitOf(const AddressBlock& block, const Stay& stay) const {
  const bool is_open = block.last == FastMemory::kForever;
  const int32_t last = is_open ? std::max(stay.last, stay.reserved) : block.last;
  // A write-back that was done long ago may still be put off until now.
  return rules_->Capacity(static_cast<uint32_t>(block.first),
                          static_cast<uint32_t>(std::max(last, instruction_)));
}

// Everything again, in the order of time, at the new addresses.
void Game::MoveStays(const std::vector<AddressBlock>& blocks, const std::vector<int32_t>& stays) {
  std::vector<int32_t> next_use(stays_.size(), FastMemory::kForever);
  for (const FastMemory::Region& region : memory_.regions()) {
    if (region.owner != FastMemory::kNobody) next_use[region.owner] = region.next_use;
  }
  std::vector<size_t> order(blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    order[b] = b;
    for (int32_t s = stays[b]; s >= 0; s = stays_[s].handed_over_by) {
      stays_[s].offset = blocks[b].offset;
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].first < blocks[b].first; });
  memory_ = FastMemory(memory_.bytes());
  for (const size_t b : order) {
    const int32_t stay = stays[b];
    TakeBytes(stay, blocks[b].first);
    if (stays_[stay].holds_bytes) {
      memory_.SetNextUse(blocks[b].offset, next_use[stay]);
    } else {
      memory_.Release(blocks[b].offset, blocks[b].last);
    }
  }
}

}  // namespace mallocmuzero
