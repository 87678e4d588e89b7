// Where values go in fast memory, and which stays move to make room for them.

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "env/refused_requests.h"
#include "env/repack.h"
#include "env/residency.h"

namespace mallocmuzero {
namespace {

// Orders in which stays are packed anew before a place is refused.
constexpr int kAttempts = 8;

// Bytes of the blocks that are taken or kept at one instruction. They need addresses of their own.
int64_t BytesKeptAt(const std::vector<AddressBlock>& blocks, InstructionIndex at) {
  int64_t bytes = 0;
  for (const AddressBlock& block : blocks) {
    if (block.first <= at && at <= block.kept_until) bytes += block.bytes;
  }
  return bytes;
}

}  // namespace

// Apart from its instruction, an access makes no difference if its value has no stay and no group.
std::optional<Place> Residency::FindPlace(const Request& request, AccessIndex access,
                                          RefusedRequests* refused) const {
  const bool is_like_others = !Holds(rules_->program().accesses()[access].buffer) &&
                              rules_->access(access).take_over == ProgramRules::kNone;
  if (refused == nullptr || !is_like_others) return SearchPlace(request, access);
  if (refused->Has(request)) {
    assert(!SearchPlace(request, access));
    return std::nullopt;
  }
  std::optional<Place> place = SearchPlace(request, access);
  if (!place) refused->Add(request);
  return place;
}

std::optional<Place> Residency::SearchPlace(const Request& request, AccessIndex access) const {
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
  Layout layout = FindLayout(request.first, access);
  std::vector<AddressBlock>& blocks = layout.blocks;
  for (size_t b = 0; b < layout.whole_stays; ++b) {
    blocks[b].moves = MayMove(layout.stays[b], access);
  }
  blocks.push_back({.bytes = request.bytes,
                    .first = request.first,
                    .last = request.until,
                    .kept_until = request.until,
                    .moves = true});
  const auto now = rules_->program().accesses()[access].instruction;
  if (!PackAnew(layout, request.first, now)) return std::nullopt;
  blocks.pop_back();
  return Rearrange(layout);
}

// Spares values that are only kept if it can. Without such values there is one way only.
bool Residency::PackAnew(Layout& layout, InstructionIndex first, InstructionIndex now) const {
  std::vector<AddressBlock>& blocks = layout.blocks;
  const bool may_spare = BytesKeptAt(blocks, now) <= memory_.bytes();
  const bool keeps_a_value =
      std::any_of(blocks.begin() + layout.whole_stays, blocks.end() - 1,
                  [first](const AddressBlock& block) { return first <= block.kept_until; });
  if (may_spare && keeps_a_value) return RepackEitherWay(blocks, memory_.bytes(), kAttempts);
  return (may_spare || keeps_a_value) && Repack(blocks, memory_.bytes(), may_spare, kAttempts);
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

// Whether the stay holds a value that may be used at `access` or later.
bool Residency::KeepsValueFor(StayIndex stay, AccessIndex access) const {
  if (!stays_[stay].holds_bytes) return false;
  if (memory_.At(stays_[stay].offset).next_use != kForever) return true;
  // The next use of these values is no access of their buffer, or it is the access being decided.
  const Program& program = rules_->program();
  const BufferIndex buffer = stays_[stay].buffer;
  if (stay_of_[buffer] != stay) return false;
  if (program.accesses()[access].buffer == buffer) return true;
  const auto& groups = program.carried_groups();
  for (const CarriedGroupIndex g : groups.indices()) {
    if (groups_[g] == GroupSpace::kOpen && groups[g].initial_buffer == buffer) return true;
  }
  return false;
}

// Stays of a carried group that hand their bytes over share a block. The first one of them.
StayIndex Residency::FirstOfBlock(StayIndex stay) const {
  while (stays_[stay].handed_over_by >= 0) stay = stays_[stay].handed_over_by;
  return stay;
}

// For a place that is taken from instruction `first` on.
Residency::Layout Residency::FindLayout(InstructionIndex first, AccessIndex access) const {
  const auto now = rules_->program().accesses()[access].instruction;
  Layout layout;
  std::vector<std::pair<StayIndex, StayIndex>> whole;  // the first and the last of a block
  std::vector<AddressBlock> ground;
  std::vector<StayIndex> ground_stays;
  ground.reserve(history_.top().size());
  ground_stays.reserve(history_.top().size());
  const auto block_of = [&](StayIndex first_of_block, StayIndex last_of_block) {
    const InstructionIndex last = stays_[last_of_block].taken_until;
    const bool is_kept_longer = last < now && KeepsValueFor(last_of_block, access);
    return AddressBlock{.first = stays_[first_of_block].first,
                        .last = last,
                        .kept_until = is_kept_longer ? now : last};
  };
  history_.ForEach([&](int64_t begin, int64_t end, StayIndex stay) {
    const StayIndex first_of_block = FirstOfBlock(stay);
    if (stays_[stay].taken_until >= first) {
      whole.push_back({first_of_block, stay});
      return true;
    }
    ground.push_back(block_of(first_of_block, stay));
    ground.back().offset = begin;
    ground.back().bytes = end - begin;
    ground_stays.push_back(stay);
    return false;
  });
  // A stay that others cover in part comes more than once.
  std::sort(whole.begin(), whole.end());
  whole.erase(std::unique(whole.begin(), whole.end()), whole.end());
  layout.whole_stays = whole.size();
  layout.blocks.reserve(whole.size() + ground.size() + 1);  // and the wanted block
  layout.stays.reserve(whole.size() + ground.size());
  for (const auto& [first_of_block, last_of_block] : whole) {
    layout.blocks.push_back(block_of(first_of_block, last_of_block));
    layout.blocks.back().offset = stays_[last_of_block].offset;
    layout.blocks.back().bytes = rules_->buffer(stays_[last_of_block].buffer).bytes;
    layout.stays.push_back(last_of_block);
  }
  layout.blocks.insert(layout.blocks.end(), ground.begin(), ground.end());
  layout.stays.insert(layout.stays.end(), ground_stays.begin(), ground_stays.end());
  return layout;
}

// The memory with nothing but the pieces of earlier stays.
FastMemory Residency::GroundOf(const Layout& layout) const {
  std::vector<FastMemory::Region> regions;
  int64_t end = 0;
  for (size_t b = layout.whole_stays; b < layout.blocks.size(); ++b) {
    const AddressBlock& block = layout.blocks[b];
    const Stay& stay = stays_[layout.stays[b]];
    if (end < block.offset) regions.push_back({.offset = end});
    FastMemory::Region region = {.offset = block.offset, .last = block.last};
    if (stay.holds_bytes) {
      region.owner = layout.stays[b];
      region.next_use = memory_.At(stay.offset).next_use;
    }
    regions.push_back(region);
    end = block.offset + block.bytes;
  }
  if (end < memory_.bytes()) regions.push_back({.offset = end});
  return FastMemory(memory_.bytes(), regions);
}

// Places the whole stays at their offsets, in the order of their first instructions. A piece of an
// earlier stay that shares bytes with one of them is older.
Rearrangement Residency::Rearrange(const Layout& layout) const {
  const std::vector<AddressBlock>& blocks = layout.blocks;
  Rearrangement result{.memory = GroundOf(layout)};
  for (size_t b = layout.whole_stays; b < blocks.size(); ++b) {
    result.ground.push_back({.begin = blocks[b].offset,
                             .end = blocks[b].offset + blocks[b].bytes,
                             .stay = layout.stays[b]});
  }
  std::vector<size_t> order(layout.whole_stays);
  for (size_t b = 0; b < order.size(); ++b) order[b] = b;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (blocks[a].first != blocks[b].first) return blocks[a].first < blocks[b].first;
    return FirstOfBlock(layout.stays[a]) < FirstOfBlock(layout.stays[b]);
  });
  for (const size_t b : order) {
    const StayIndex stay = layout.stays[b];
    const int64_t offset = blocks[b].offset;
    result.moves.push_back({.stay = stay, .offset = offset});
    Occupy(result.memory, stay, blocks[b], result.losses);
    if (stays_[stay].holds_bytes) {
      result.memory.SetNextUse(offset, memory_.At(stays_[stay].offset).next_use);
    } else {
      result.memory.Release(offset, blocks[b].last);
    }
  }
  return result;
}

}  // namespace mallocmuzero
