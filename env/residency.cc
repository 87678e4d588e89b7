#include "env/residency.h"

#include <algorithm>
#include <cassert>

namespace mallocmuzero {
namespace {

// Last instruction for which the bytes of a stay are taken.
int32_t TakenUntil(const Stay& stay) {
  return std::max({stay.last, stay.reserved, stay.write_back_until});
}

}  // namespace

Residency::Residency(const ProgramRules& rules)
    : rules_(&rules),
      memory_(rules.fast_memory_bytes()),
      stay_of_(rules.program().buffer_count(), -1),
      groups_(rules.program().carried_groups().size(), GroupSpace::kOpen) {}

bool Residency::CanTakeOver(uint32_t group) const {
  const CarriedGroup& buffers = rules_->program().carried_groups()[group];
  if (!Holds(buffers.initial_buffer)) return false;
  const int32_t loop_around = rules_->program().loops()[buffers.loop].parent;
  return Current(buffers.initial_buffer).loop == loop_around;
}

void Residency::Occupy(FastMemory& memory, int32_t stay, int64_t offset, int32_t first,
                       std::vector<LostBytes>& losses) const {
  const int64_t end = offset + rules_->buffer(stays_[stay].buffer).bytes;
  for (size_t r = memory.IndexOf(offset); r < memory.regions().size(); ++r) {
    const FastMemory::Region region = memory.regions()[r];
    if (region.offset >= end) break;
    if (region.owner == FastMemory::kNobody) continue;
    losses.push_back({.stay = region.owner, .from = first});
    // The write-back may end anywhere before `first`: the rest of the region is taken until then.
    if (stays_[region.owner].write_back >= 0) {
      memory.SetLast(region.offset, std::max(region.last, first - 1));
    }
  }
  memory.Occupy(offset, end - offset, stays_[stay].taken_until, stay);
}

void Residency::Lose(const LostBytes& loss) {
  Stay& stay = stays_[loss.stay];
  stay.holds_bytes = false;
  if (stay_of_[stay.buffer] == loss.stay) stay_of_[stay.buffer] = -1;
  if (stay.write_back < 0) return;
  stay.taken_until = std::max(stay.taken_until, loss.from - 1);
  fixed_.push_back({static_cast<uint32_t>(stay.write_back), loss.from});
}

absl::Span<const FixedWriteBack> Residency::Add(const Stay& stay) {
  fixed_.clear();
  losses_.clear();
  const auto index = static_cast<int32_t>(stays_.size());
  stays_.push_back(stay);
  stays_.back().taken_until = stay.reserved;
  stay_of_[stay.buffer] = index;
  Occupy(memory_, index, stay.offset, stay.first, losses_);
  for (const LostBytes& loss : losses_) Lose(loss);
  return fixed_;
}

absl::Span<const FixedWriteBack> Residency::MakePlace(const Place& place) {
  fixed_.clear();
  if (place.moves == nullptr) return fixed_;
  for (size_t s = 0; s < stays_.size(); ++s) stays_[s].offset = place.moves->offsets[s];
  memory_ = place.moves->memory;
  for (const LostBytes& loss : place.moves->losses) Lose(loss);
  return fixed_;
}

void Residency::Extend(uint32_t buffer, int32_t last, int32_t reserved) {
  Stay& stay = stays_[stay_of_[buffer]];
  stay.last = std::max(stay.last, last);
  stay.reserved = std::max(stay.reserved, reserved);
  SetTakenUntil(stay, TakenUntil(stay));
}

absl::Span<const FixedWriteBack> Residency::End(uint32_t buffer, int32_t now) {
  fixed_.clear();
  EndOne(buffer, now);
  return fixed_;
}

void Residency::EndOne(uint32_t buffer, int32_t now) {
  const int32_t index = stay_of_[buffer];
  if (index < 0) return;
  stay_of_[buffer] = -1;
  Stay& stay = stays_[index];
  stay.reserved = stay.last;
  memory_.SetNextUse(stay.offset, kForever);
  if (stay.write_back < 0) {
    Release(stay, stay.last);
  } else {
    Settle(index, stay.write_back_until, now);
  }
}

void Residency::SetNextUseAfter(uint32_t access) {
  const int32_t stay = stay_of_[rules_->program().accesses()[access].buffer];
  if (stay < 0) return;
  const int32_t next = rules_->access(access).next_access;
  memory_.SetNextUse(stays_[stay].offset,
                     next == ProgramRules::kNone
                         ? kForever
                         : static_cast<int32_t>(rules_->program().accesses()[next].instruction));
}

void Residency::SetWriteBack(uint32_t buffer, uint32_t write_back) {
  Stay& stay = stays_[stay_of_[buffer]];
  stay.write_back = static_cast<int32_t>(write_back);
  stay.write_back_until = kForever;
  if (stay.taken_until != kForever) SetTakenUntil(stay, kForever);
}

absl::Span<const FixedWriteBack> Residency::SettleWriteBack(int32_t stay, int32_t until,
                                                            int32_t now) {
  fixed_.clear();
  Settle(stay, until, now);
  return fixed_;
}

void Residency::Settle(int32_t index, int32_t until, int32_t now) {
  Stay& stay = stays_[index];
  stay.write_back_until = until;
  assert(stay.holds_bytes == (memory_.At(stay.offset).owner == index));
  if (!stay.holds_bytes) return;
  const int32_t last = TakenUntil(stay);
  if (stay_of_[stay.buffer] == index || last == kForever) {
    if (last != stay.taken_until) SetTakenUntil(stay, last);
    return;
  }
  // A released region has no owner whose `last` could become later with the write-back.
  fixed_.push_back({static_cast<uint32_t>(stay.write_back), now});
  Release(stay, std::max(last, now - 1));
}

void Residency::SetTakenUntil(Stay& stay, int32_t last) {
  stay.taken_until = last;
  memory_.SetLast(stay.offset, last);
}

void Residency::Release(Stay& stay, int32_t last) {
  stay.holds_bytes = false;
  stay.taken_until = last;
  memory_.Release(stay.offset, last);
}

void Residency::TakeOver(uint32_t group) {
  groups_[group] = GroupSpace::kFast;
  const CarriedGroup& buffers = rules_->program().carried_groups()[group];
  const auto begin = static_cast<int32_t>(rules_->program().loops()[buffers.loop].begin);
  Stay& initial = stays_[stay_of_[buffers.initial_buffer]];
  initial.last = begin;
  Stay parameter;
  parameter.buffer = buffers.parameter_buffer;
  parameter.first = parameter.last = begin;
  parameter.offset = initial.offset;
  parameter.loop = static_cast<int32_t>(buffers.loop);
  parameter.reserved = rules_->group(group).keep_until;
  HandOver(buffers.initial_buffer, parameter);
}

void Residency::WriteCarriedRoot(uint32_t root, int32_t now) {
  if (Holds(root)) {
    stays_[stay_of_[root]].last = now;
    return;
  }
  const auto group = static_cast<uint32_t>(rules_->GroupInside(root));
  const CarriedGroup& buffers = rules_->program().carried_groups()[group];
  Stay stay;
  stay.buffer = root;
  stay.first = stay.last = now;
  stay.offset = Current(buffers.parameter_buffer).offset;
  stay.loop = static_cast<int32_t>(buffers.loop);
  stay.reserved = rules_->group(group).keep_until;
  HandOver(buffers.parameter_buffer, stay);
}

void Residency::HandToResult(uint32_t group, int32_t now) {
  const CarriedGroup& buffers = rules_->program().carried_groups()[group];
  Stay& root = stays_[stay_of_[buffers.root_buffer]];
  root.last = now;
  Stay result;
  result.buffer = buffers.result_buffer;
  result.first = result.last = now;
  result.offset = root.offset;
  result.loop = rules_->program().loops()[buffers.loop].parent;
  result.reserved = rules_->group(group).keep_until;
  HandOver(buffers.root_buffer, result);
}

void Residency::HandOver(uint32_t from, const Stay& to) {
  const int32_t giver = stay_of_[from];
  stays_[giver].holds_bytes = false;
  stay_of_[from] = -1;
  const auto index = static_cast<int32_t>(stays_.size());
  stays_.push_back(to);
  stays_.back().handed_over_by = giver;
  stay_of_[to.buffer] = index;
  memory_.SetOwner(to.offset, index);
  memory_.SetNextUse(to.offset, kForever);
  SetTakenUntil(stays_.back(), to.reserved);
}

absl::Span<const FixedWriteBack> Residency::LeaveLoop(uint32_t loop, int32_t now) {
  fixed_.clear();
  ended_.clear();
  // A stay that is part of a pass began after the loop did: no earlier stay needs a look.
  for (uint32_t s = stays_before_loop_.back(); s < stays_.size(); ++s) {
    const bool holds_value = stay_of_[stays_[s].buffer] == static_cast<int32_t>(s);
    if (holds_value && rules_->IsInLoop(stays_[s].loop, static_cast<int32_t>(loop))) {
      ended_.push_back(stays_[s].buffer);
    }
  }
  stays_before_loop_.pop_back();
  std::sort(ended_.begin(), ended_.end());  // the order must not depend on decisions
  for (const uint32_t buffer : ended_) EndOne(buffer, now);
  return fixed_;
}

size_t Residency::HeapBytes() const {
  const auto bytes = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
  return memory_.HeapBytes() + bytes(stays_) + bytes(stay_of_) + bytes(groups_) +
         bytes(stays_before_loop_) + bytes(fixed_) + bytes(losses_) + bytes(ended_);
}

}  // namespace mallocmuzero
