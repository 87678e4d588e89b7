// Where values go in fast memory, and which stays move to make room for them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "env/repack.h"
#include "env/residency.h"

namespace mallocmuzero {
namespace {

// Orders in which stays are packed anew before a place is refused.
constexpr int kAttempts = 8;

}  // namespace

std::optional<Place> Residency::FindPlace(const Request& request, AccessIndex access) const {
  const auto now = rules_->program().accesses()[access].instruction;
  const auto find = [&](const FastMemory& memory) {
    return memory.FindPlace(request.bytes, request.first, now);
  };
  if (const std::optional<int64_t> offset = find(memory_)) return Place{.offset = *offset};
  if (memory_.FreeBytes(request.first) < request.bytes) return std::nullopt;
  std::optional<Rearrangement> moves = FindMoves(request, access);
  if (!moves) return std::nullopt;
  const std::optional<int64_t> offset = find(moves->memory);
  if (!offset) return std::nullopt;
  return Place{.offset = *offset,
               .moves = std::make_shared<const Rearrangement>(*std::move(moves))};
}

std::optional<Rearrangement> Residency::FindMoves(const Request& request,
                                                  AccessIndex access) const {
  std::vector<StayIndex> last_stays;
  std::vector<AddressBlock> blocks = FindBlocks(access, last_stays);
  for (size_t b = 0; b < blocks.size(); ++b) {
    blocks[b].moves = blocks[b].last >= request.first && MayMove(last_stays[b], access);
  }
  blocks.push_back({.bytes = request.bytes,
                    .first = request.first,
                    .last = request.until,
                    .kept_until = request.until,
                    .moves = true});
  if (!Repack(blocks, memory_.bytes(), true, kAttempts)) {
    const bool keeps_a_value = std::any_of(blocks.begin(), blocks.end(), [&](const auto& block) {
      return !block.moves && block.last < request.first && request.first <= block.kept_until;
    });
    if (!keeps_a_value || !Repack(blocks, memory_.bytes(), false, kAttempts)) return std::nullopt;
  }
  blocks.pop_back();
  return Rearrange(blocks, last_stays);
}

// The value that the decision is about must not move: NoCopy keeps or takes over its bytes where
// they are.
bool Residency::MayMove(StayIndex stay, AccessIndex access) const {
  const BufferIndex buffer = rules_->program().accesses()[access].buffer;
  const CarriedGroupIndex group = rules_->access(access).take_over;
  if (stays_[stay].cross_program_prefetch || stay_of_[buffer] == stay) return false;
  if (group == ProgramRules::kNone) return true;
  return stay_of_[rules_->program().carried_groups()[group].initial_buffer] != stay;
}

// One block for each stay. Stays of a carried group that hand their bytes over share a block.
// `last_stays` gets the last stay of each block.
std::vector<AddressBlock> Residency::FindBlocks(AccessIndex access,
                                                std::vector<StayIndex>& last_stays) const {
  const auto now = rules_->program().accesses()[access].instruction;
  std::vector<AddressBlock> blocks;
  IndexVector<StayIndex, size_t> block_of(stays_.size());
  for (const StayIndex s : stays_.indices()) {
    const Stay& stay = stays_[s];
    if (stay.handed_over_by >= 0) {
      block_of[s] = block_of[stay.handed_over_by];
    } else {
      block_of[s] = blocks.size();
      const int64_t bytes = rules_->buffer(stay.buffer).bytes;
      blocks.push_back({.offset = stay.offset, .bytes = bytes, .first = stay.first});
      last_stays.push_back(0);
    }
    last_stays[block_of[s]] = s;
    blocks[block_of[s]].last = blocks[block_of[s]].kept_until = stay.taken_until;
  }
  const auto keep = [&](StayIndex stay) {
    if (stay < 0) return;
    AddressBlock& block = blocks[block_of[stay]];
    block.kept_until = std::max(block.last, now);
  };
  for (const FastMemory::Region& region : memory_.regions()) {
    if (region.next_use != kForever) keep(region.owner);
  }
  // The next use of these values is no access of their buffer, or it is the access being decided.
  for (const CarriedGroupIndex g : groups_.indices()) {
    const BufferIndex initial = rules_->program().carried_groups()[g].initial_buffer;
    if (groups_[g] == GroupSpace::kOpen) keep(stay_of_[initial]);
  }
  keep(stay_of_[rules_->program().accesses()[access].buffer]);
  return blocks;
}

// Places all blocks at their new offsets, in the order of their first instructions.
Rearrangement Residency::Rearrange(const std::vector<AddressBlock>& blocks,
                                   const std::vector<StayIndex>& last_stays) const {
  Rearrangement result{.offsets = IndexVector<StayIndex, int64_t>(stays_.size()),
                       .memory = FastMemory(memory_.bytes())};
  IndexVector<StayIndex, InstructionIndex> next_use(stays_.size(), kForever);
  for (const FastMemory::Region& region : memory_.regions()) {
    if (region.owner != FastMemory::kNobody) next_use[region.owner] = region.next_use;
  }
  std::vector<size_t> order(blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    order[b] = b;
    for (StayIndex s = last_stays[b]; s >= 0; s = stays_[s].handed_over_by) {
      result.offsets[s] = blocks[b].offset;
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].first < blocks[b].first; });
  for (const size_t b : order) {
    const StayIndex stay = last_stays[b];
    Occupy(result.memory, stay, blocks[b].offset, blocks[b].first, result.losses);
    if (stays_[stay].holds_bytes) {
      result.memory.SetNextUse(blocks[b].offset, next_use[stay]);
    } else {
      result.memory.Release(blocks[b].offset, blocks[b].last);
    }
  }
  return result;
}

}  // namespace mallocmuzero
