// Which actions are legal, and what they would do.

#include <algorithm>
#include <optional>

#include "env/game.h"

namespace mallocmuzero {

ActionSet Game::FindLegalActions() {
  const uint32_t a = access_;
  const Access& access = program().accesses()[a];
  const int32_t stay = buffers_[access.buffer].stay;
  if (rules_->UsesPrefetch(a) && stay >= 0 && stays_[stay].cross_program_prefetch) {
    plan_.keep_until = stays_[stay].last;
    return SetOf(Action::kNoCopy);
  }
  if (rules_->buffer(access.buffer).stays_in_hbm) return SetOf(Action::kDrop);
  switch (access.kind) {
    case AccessKind::kRead:
      return LegalForRead(a);
    case AccessKind::kWrite:
      return LegalForWrite(a);
    case AccessKind::kUpdate:
      break;
  }
  return LegalForUpdate(a);
}

bool Game::IsCarriedFast(uint32_t buffer) const {
  const int32_t group = rules_->GroupInside(buffer);
  return group != ProgramRules::kNone && groups_[group] == GroupSpace::kFast;
}

bool Game::HbmHasValue(uint32_t buffer) const {
  return buffers_[buffer].hbm_current || buffers_[buffer].write_back >= 0;
}

ActionSet Game::LegalForRead(uint32_t access) {
  const uint32_t buffer = program().accesses()[access].buffer;
  ActionSet legal = 0;
  if (CanKeep(access)) legal |= SetOf(Action::kNoCopy);
  if (IsCarriedFast(buffer) || !HbmHasValue(buffer)) return legal;
  if (rules_->access(access).follows_write && buffers_[buffer].stay >= 0) return legal;
  legal |= SetOf(Action::kDrop);
  // What can be kept need not be brought in again, unless keeping it takes up a whole loop.
  const bool keeps = Contains(legal, Action::kNoCopy) && plan_.keep_until == instruction_;
  if (!keeps && CanCopyIn(access)) legal |= SetOf(Action::kCopy);
  return legal;
}

ActionSet Game::LegalForWrite(uint32_t access) {
  const uint32_t buffer = program().accesses()[access].buffer;
  if (IsCarriedFast(buffer)) return SetOf(Action::kNoCopy);
  ActionSet legal = SetOf(Action::kDrop);
  const int64_t bytes = rules_->buffer(buffer).bytes;
  const ProgramRules::AccessRule& rule = rules_->access(access);
  int64_t refused = 0;  // the highest limit below which no place was found
  const auto place = [&](int32_t until) -> std::optional<int64_t> {
    const int64_t limit =
        rules_->Capacity(static_cast<uint32_t>(instruction_), static_cast<uint32_t>(until));
    if (limit <= refused) return std::nullopt;
    refused = limit;
    return FindPlace(bytes, instruction_, until, limit);
  };
  std::optional<int64_t> offset;
  if (rule.keep_until != ProgramRules::kNone) {
    plan_.keep_until = rule.keep_until;
    offset = place(rule.keep_until);
    if (offset) legal |= SetOf(Action::kNoCopy);
  }
  const bool may_copy = rule.copy_until != ProgramRules::kNone;
  if (!offset && may_copy) offset = place(rule.copy_until);
  if (!offset) return legal;
  plan_.offset = *offset;
  return may_copy ? legal | SetOf(Action::kCopy) : legal;
}

ActionSet Game::LegalForUpdate(uint32_t access) {
  const uint32_t buffer = program().accesses()[access].buffer;
  const ProgramRules::AccessRule& rule = rules_->access(access);
  const int32_t group = rule.take_over;
  if (group != ProgramRules::kNone && groups_[group] == GroupSpace::kOpen) {
    const ActionSet rest = SetOf(Action::kDrop) | (CanCopyIn(access) ? SetOf(Action::kCopy) : 0);
    return CanTakeOver(static_cast<uint32_t>(group)) ? rest | SetOf(Action::kNoCopy) : rest;
  }
  if (IsCarriedFast(buffer)) return SetOf(Action::kNoCopy);
  ActionSet legal = HbmHasValue(buffer) ? SetOf(Action::kDrop) : 0;
  const bool resident = buffers_[buffer].stay >= 0;
  const bool has_write_back = resident && stays_[buffers_[buffer].stay].write_back >= 0;
  const int32_t until = has_write_back ? rule.keep_until_end : rule.keep_until;
  if (resident && until != ProgramRules::kNone && CanStayUntil(buffer, until)) {
    plan_.keep_until = until;
    legal |= SetOf(Action::kNoCopy);
  }
  if (resident && !has_write_back && CanStayUntil(buffer, instruction_)) {
    return legal | SetOf(Action::kCopy);
  }
  if (HbmHasValue(buffer) && CanCopyIn(access)) legal |= SetOf(Action::kCopy);
  return legal;
}

// Whether the buffer's bytes are within the capacity up to an instruction. Nobody else has them:
// the buffer is resident.
bool Game::CanStayUntil(uint32_t buffer, int32_t until) const {
  const Stay& stay = stays_[buffers_[buffer].stay];
  if (until <= stay.last) return true;
  const int64_t limit =
      rules_->Capacity(static_cast<uint32_t>(stay.last) + 1, static_cast<uint32_t>(until));
  return stay.offset + rules_->buffer(buffer).bytes <= limit;
}

bool Game::CanKeep(uint32_t access) {
  const uint32_t buffer = program().accesses()[access].buffer;
  const int32_t group = rules_->access(access).take_over;
  if (group != ProgramRules::kNone && groups_[group] == GroupSpace::kOpen) {
    return CanTakeOver(static_cast<uint32_t>(group));
  }
  if (buffers_[buffer].stay < 0) return false;
  const Stay& stay = stays_[buffers_[buffer].stay];
  plan_.keep_until = rules_->SpanEnd(static_cast<uint32_t>(instruction_), stay.loop);
  return CanStayUntil(buffer, plan_.keep_until);
}

bool Game::CanTakeOver(uint32_t group) const {
  const uint32_t initial = program().carried_groups()[group].initial_buffer;
  if (buffers_[initial].stay < 0) return false;
  if (stays_[buffers_[initial].stay].loop !=
      program().loops()[program().carried_groups()[group].loop].parent) {
    return false;
  }
  return CanStayUntil(initial, rules_->group(group).keep_until);
}

// From the outermost loop that leaves the value as it is, inwards: a copy that is made once serves
// all passes.
bool Game::CanCopyIn(uint32_t access) {
  const uint32_t buffer = program().accesses()[access].buffer;
  const int32_t inner = program().instructions()[instruction_].loop;
  int32_t loop = rules_->buffer(buffer).home;
  if (program().accesses()[access].kind != AccessKind::kRead) loop = inner;
  while (!PlanCopyIn(buffer, loop)) {
    if (loop == inner) return false;
    loop = rules_->ChildLoop(inner, loop);
  }
  return true;
}

bool Game::PlanCopyIn(uint32_t buffer, int32_t loop) {
  const BufferState& state = buffers_[buffer];
  int32_t earliest = state.hbm_since;
  if (!state.hbm_current) {
    earliest = timeline_.DoneAt(static_cast<uint32_t>(state.write_back));
    if (earliest == CopyTimeline::kPending) return false;
  }
  const int32_t inner = program().instructions()[instruction_].loop;
  int32_t done = instruction_;
  if (inner != loop) {
    done = static_cast<int32_t>(program().loops()[rules_->ChildLoop(inner, loop)].begin);
  }
  if (loop != ProgramRules::kNone) {
    earliest = std::max(earliest, static_cast<int32_t>(program().loops()[loop].begin) + 1);
  }
  const std::optional<uint32_t> start = timeline_.LatestStart(
      static_cast<double>(program().buffers()[buffer].bytes), earliest, static_cast<uint32_t>(done),
      [this, loop](int32_t point) { return rules_->PointInLoop(point, loop); });
  if (!start) return false;
  const int32_t until = rules_->SpanEnd(static_cast<uint32_t>(instruction_), loop);
  const std::optional<int64_t> offset =
      FindPlace(rules_->buffer(buffer).bytes, static_cast<int32_t>(*start), until,
                rules_->Capacity(*start, static_cast<uint32_t>(until)));
  if (!offset) return false;
  plan_.copy_start = static_cast<int32_t>(*start);
  plan_.copy_done = done;
  plan_.copy_until = until;
  plan_.copy_loop = loop;
  plan_.offset = *offset;
  return true;
}

}  // namespace mallocmuzero
