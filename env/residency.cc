#include "env/residency.h"

#include <algorithm>
#include <cassert>

namespace mallocmuzero {
namespace {

// Last instruction for which the bytes of a stay are taken.
InstructionIndex TakenUntil(const Stay& stay) {
  return std::max({stay.last, stay.reserved, stay.write_back_until});
}

}  // namespace

Residency::Residency(const ProgramRules& rules)
    : rules_(&rules),
      memory_(rules.fast_memory_bytes()),
      history_(rules.fast_memory_bytes()),
      stay_of_(rules.program().buffer_count(), -1),
      groups_(rules.program().carried_groups().size(), GroupSpace::kOpen) {}

bool Residency::CanTakeOver(CarriedGroupIndex group) const {
  const CarriedGroup& buffers = rules_->program().carried_groups()[group];
  if (!Holds(buffers.initial_buffer)) return false;
  const LoopIndex loop_around = rules_->program().loops()[buffers.loop].parent;
  return Current(buffers.initial_buffer).loop == loop_around;
}

void Residency::Occupy(FastMemory& memory, StayIndex stay, const AddressBlock& block,
                       std::vector<LostBytes>& losses) const {
  const int64_t end = block.offset + block.bytes;
  for (size_t r = memory.IndexOf(block.offset); r < memory.regions().size(); ++r) {
    const FastMemory::Region region = memory.regions()[r];
    if (region.offset >= end) break;
    if (region.owner == FastMemory::kNobody) continue;
    losses.push_back({.stay = region.owner, .from = block.first});
    // The write-back may end anywhere before `first`: the rest of the region is taken until then.
    if (stays_[region.owner].write_back >= 0) {
      memory.SetLast(region.offset, std::max(region.last, block.first - 1));
    }
  }
  memory.Occupy(block.offset, block.bytes, stays_[stay].taken_until, stay);
}

void Residency::Lose(const LostBytes& loss) {
  Stay& stay = stays_.Mutable(loss.stay);
  stay.holds_bytes = false;
  if (stay_of_[stay.buffer] == loss.stay) stay_of_.Mutable(stay.buffer) = -1;
  if (stay.write_back < 0) return;
  stay.taken_until = std::max(stay.taken_until, loss.from - 1);
  fixed_.push_back({stay.write_back, loss.from});
}

absl::Span<const FixedWriteBack> Residency::Add(const Stay& stay) {
  fixed_.clear();
  losses_.clear();
  const StayIndex index = stays_.end_index();
  stays_.push_back(stay);
  stays_.Mutable(index).taken_until = stay.reserved;
  stay_of_.Mutable(stay.buffer) = index;
  const AddressBlock block = {
      .offset = stay.offset, .bytes = rules_->buffer(stay.buffer).bytes, .first = stay.first};
  Occupy(memory_, index, block, losses_);
  history_.Lay(index, block.offset, block.bytes);
  for (const LostBytes& loss : losses_) Lose(loss);
  return fixed_;
}

absl::Span<const FixedWriteBack> Residency::MakePlace(const Place& place) {
  fixed_.clear();
  if (place.moves == nullptr) return fixed_;
  history_.Uncover(place.moves->ground);
  for (const auto& [stay, offset] : place.moves->moves) {
    history_.Lay(stay, offset, rules_->buffer(stays_[stay].buffer).bytes);
    for (StayIndex s = stay; s >= 0; s = stays_[s].handed_over_by)
      stays_.Mutable(s).offset = offset;
  }
  memory_ = place.moves->memory;
  for (const LostBytes& loss : place.moves->losses) Lose(loss);
  return fixed_;
}

void Residency::Extend(BufferIndex buffer, InstructionIndex last, InstructionIndex reserved) {
  Stay& stay = stays_.Mutable(stay_of_[buffer]);
  stay.last = std::max(stay.last, last);
  stay.reserved = std::max(stay.reserved, reserved);
  SetTakenUntil(stay, TakenUntil(stay));
}

absl::Span<const FixedWriteBack> Residency::End(BufferIndex buffer, InstructionIndex now) {
  fixed_.clear();
  EndOne(buffer, now);
  return fixed_;
}

void Residency::EndOne(BufferIndex buffer, InstructionIndex now) {
  const StayIndex index = stay_of_[buffer];
  if (index < 0) return;
  stay_of_.Mutable(buffer) = -1;
  Stay& stay = stays_.Mutable(index);
  stay.reserved = stay.last;
  memory_.SetNextUse(stay.offset, kForever);
  if (stay.write_back < 0) {
    Release(stay, stay.last);
  } else {
    Settle(index, stay.write_back_until, now);
  }
}

void Residency::SetNextUseAfter(AccessIndex access) {
  const StayIndex stay = stay_of_[rules_->program().accesses()[access].buffer];
  if (stay < 0) return;
  const AccessIndex next = rules_->access(access).next_access;
  memory_.SetNextUse(stays_[stay].offset, next == ProgramRules::kNone
                                              ? kForever
                                              : rules_->program().accesses()[next].instruction);
}

void Residency::SetWriteBack(BufferIndex buffer, WriteBackIndex write_back) {
  Stay& stay = stays_.Mutable(stay_of_[buffer]);
  stay.write_back = write_back;
  stay.write_back_until = kForever;
  if (stay.taken_until != kForever) SetTakenUntil(stay, kForever);
}

absl::Span<const FixedWriteBack> Residency::SettleWriteBack(StayIndex stay, InstructionIndex until,
                                                            InstructionIndex now) {
  fixed_.clear();
  Settle(stay, until, now);
  return fixed_;
}

void Residency::Settle(StayIndex index, InstructionIndex until, InstructionIndex now) {
  Stay& stay = stays_.Mutable(index);
  stay.write_back_until = until;
  assert(stay.holds_bytes == (memory_.At(stay.offset).owner == index));
  if (!stay.holds_bytes) return;
  const InstructionIndex last = TakenUntil(stay);
  if (stay_of_[stay.buffer] == index || last == kForever) {
    if (last != stay.taken_until) SetTakenUntil(stay, last);
    return;
  }
  // A released region has no owner whose `last` could become later with the write-back.
  fixed_.push_back({stay.write_back, now});
  Release(stay, std::max(last, now - 1));
}

void Residency::SetTakenUntil(Stay& stay, InstructionIndex last) {
  stay.taken_until = last;
  memory_.SetLast(stay.offset, last);
}

void Residency::Release(Stay& stay, InstructionIndex last) {
  stay.holds_bytes = false;
  stay.taken_until = last;
  memory_.Release(stay.offset, last);
}

void Residency::TakeOver(CarriedGroupIndex group) {
  groups_[group] = GroupSpace::kFast;
  const CarriedGroup& buffers = rules_->program().carried_groups()[group];
  const auto begin = rules_->program().loops()[buffers.loop].begin;
  Stay& initial = stays_.Mutable(stay_of_[buffers.initial_buffer]);
  initial.last = begin;
  Stay parameter;
  parameter.buffer = buffers.parameter_buffer;
  parameter.first = parameter.last = begin;
  parameter.offset = initial.offset;
  parameter.loop = buffers.loop;
  parameter.reserved = rules_->group(group).keep_until;
  HandOver(buffers.initial_buffer, parameter);
}

void Residency::WriteCarriedRoot(BufferIndex root, InstructionIndex now) {
  if (Holds(root)) {
    stays_.Mutable(stay_of_[root]).last = now;
    return;
  }
  const auto group = rules_->GroupInside(root);
  const CarriedGroup& buffers = rules_->program().carried_groups()[group];
  Stay stay;
  stay.buffer = root;
  stay.first = stay.last = now;
  stay.offset = Current(buffers.parameter_buffer).offset;
  stay.loop = buffers.loop;
  stay.reserved = rules_->group(group).keep_until;
  HandOver(buffers.parameter_buffer, stay);
}

void Residency::HandToResult(CarriedGroupIndex group, InstructionIndex now) {
  const CarriedGroup& buffers = rules_->program().carried_groups()[group];
  Stay& root = stays_.Mutable(stay_of_[buffers.root_buffer]);
  root.last = now;
  Stay result;
  result.buffer = buffers.result_buffer;
  result.first = result.last = now;
  result.offset = root.offset;
  result.loop = rules_->program().loops()[buffers.loop].parent;
  result.reserved = rules_->group(group).keep_until;
  HandOver(buffers.root_buffer, result);
}

void Residency::HandOver(BufferIndex from, const Stay& to) {
  const StayIndex giver = stay_of_[from];
  stays_.Mutable(giver).holds_bytes = false;
  stay_of_.Mutable(from) = -1;
  const StayIndex index = stays_.end_index();
  stays_.push_back(to);
  stays_.Mutable(index).handed_over_by = giver;
  stay_of_.Mutable(to.buffer) = index;
  memory_.SetOwner(to.offset, index);
  history_.HandOver(giver, index, to.offset);
  memory_.SetNextUse(to.offset, kForever);
  SetTakenUntil(stays_.Mutable(index), to.reserved);
}

absl::Span<const FixedWriteBack> Residency::LeaveLoop(LoopIndex loop, InstructionIndex now) {
  fixed_.clear();
  ended_.clear();
  // A stay that is part of a pass began after the loop did: no earlier stay needs a look.
  for (StayIndex s = stays_before_loop_.back(); s < stays_.end_index(); ++s) {
    const bool holds_value = stay_of_[stays_[s].buffer] == s;
    if (holds_value && rules_->IsInLoop(stays_[s].loop, loop)) {
      ended_.push_back(stays_[s].buffer);
    }
  }
  stays_before_loop_.pop_back();
  std::sort(ended_.begin(), ended_.end());  // the order must not depend on decisions
  for (const BufferIndex buffer : ended_) EndOne(buffer, now);
  return fixed_;
}

size_t Residency::HeapBytes() const {
  const auto bytes = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
  return memory_.HeapBytes() + history_.HeapBytes() + stays_.HeapBytes() + stay_of_.HeapBytes() +
         bytes(groups_) + bytes(stays_before_loop_) + bytes(fixed_) + bytes(losses_) +
         bytes(ended_);
}

size_t Residency::CopyBytes() const {
  return memory_.HeapBytes() + history_.CopyBytes() + stays_.CopyBytes() + stay_of_.CopyBytes() +
         groups_.capacity() * sizeof(GroupSpace);
}

}  // namespace mallocmuzero
