// What actions do.

#include <algorithm>
#include <cassert>

#include "env/game.h"

namespace mallocmuzero {

void Game::Take(Action action) {
  const uint32_t a = access_;
  const Access& access = program().accesses()[a];
  // Whoever uses the value another loop could have taken over from outside has it in HBM.
  const int32_t group = rules_->access(a).take_over;
  if (group != ProgramRules::kNone && groups_[group] == GroupSpace::kOpen) {
    if (action == Action::kNoCopy) {
      TakeOver(static_cast<uint32_t>(group));
      const auto loop = static_cast<int32_t>(program().carried_groups()[group].loop);
      plan_.keep_until = rules_->SpanEnd(static_cast<uint32_t>(instruction_), loop);
    } else {
      groups_[group] = GroupSpace::kHbm;
    }
  }
  switch (access.kind) {
    case AccessKind::kRead:
      Read(a, action);
      break;
    case AccessKind::kWrite:
      Write(a, action);
      break;
    case AccessKind::kUpdate:
      Update(a, action);
      break;
  }
  if (action != Action::kDrop) SetFast(a);
  const int32_t stay = buffers_[access.buffer].stay;
  if (stay >= 0) SetNextUse(static_cast<uint32_t>(stay), a);
  ++access_;
}

void Game::Read(uint32_t access, Action action) {
  const uint32_t buffer = program().accesses()[access].buffer;
  switch (action) {
    case Action::kCopy:
      CopyIn(buffer);
      break;
    case Action::kNoCopy:
      KeepUntil(buffer, std::max(instruction_, plan_.keep_until));
      break;
    case Action::kDrop:
      NeedHbm(buffer, instruction_);
      break;
  }
}

void Game::Write(uint32_t access, Action action) {
  const uint32_t buffer = program().accesses()[access].buffer;
  BufferState& state = buffers_[buffer];
  if (IsCarriedFast(buffer)) {
    WriteCarriedRoot(buffer);
    return;
  }
  WaitForWriteBackOf(buffer);
  EndStay(buffer);
  state = BufferState();
  if (action == Action::kDrop) {
    state.hbm_current = true;
    state.hbm_since = instruction_ + 1;
    return;
  }
  Stay stay;
  stay.buffer = buffer;
  stay.first = stay.last = instruction_;
  stay.offset = plan_.offset;
  stay.loop = program().instructions()[instruction_].loop;
  stay.reserved = action == Action::kNoCopy ? plan_.keep_until : rules_->access(access).copy_until;
  NewStay(stay);
  if (action == Action::kCopy) {
    QueueWriteBack(buffer);
  } else if (rules_->access(access).feeds_group != ProgramRules::kNone) {
    groups_[rules_->access(access).feeds_group] = GroupSpace::kFast;
  }
}

void Game::Update(uint32_t access, Action action) {
  const uint32_t buffer = program().accesses()[access].buffer;
  BufferState& state = buffers_[buffer];
  if (action == Action::kDrop) {
    WaitForWriteBackOf(buffer);
    EndStay(buffer);
    state = BufferState();
    state.hbm_current = true;
    state.hbm_since = instruction_ + 1;
    return;
  }
  if (action == Action::kCopy && plan_.copy_start >= 0) {
    CopyIn(buffer);
  } else {
    KeepUntil(buffer,
              action == Action::kCopy ? instruction_ : std::max(instruction_, plan_.keep_until));
  }
  WaitForWriteBackOf(buffer);
  state.hbm_current = false;
  state.write_back = -1;
  if (action == Action::kCopy) {
    QueueWriteBack(buffer);
  } else if (rules_->access(access).feeds_group != ProgramRules::kNone) {
    groups_[rules_->access(access).feeds_group] = GroupSpace::kFast;
  }
}

void Game::CopyIn(uint32_t buffer) {
  NeedHbm(buffer, plan_.copy_start);
  EndStay(buffer);
  const uint32_t touched = timeline_.Insert(
      {static_cast<uint32_t>(plan_.copy_start), static_cast<uint32_t>(plan_.copy_done),
       static_cast<double>(program().buffers()[buffer].bytes)});
  Stay stay;
  stay.buffer = buffer;
  stay.first = plan_.copy_start;
  stay.last = plan_.copy_until;
  stay.offset = plan_.offset;
  stay.copy_in_start = plan_.copy_start;
  stay.copy_in_done = plan_.copy_done;
  stay.loop = plan_.copy_loop;
  stay.reserved = stay.last;
  NewStay(stay);
  SettleWriteBacks(touched);
}

// HBM has the value at a point, and whatever is queued later does not change that.
void Game::NeedHbm(uint32_t buffer, int32_t point) {
  BufferState& state = buffers_[buffer];
  if (state.hbm_current) return;
  const uint32_t first_pending = timeline_.first_pending();
  timeline_.WaitFor(static_cast<uint32_t>(state.write_back), static_cast<uint32_t>(point));
  SettleWriteBacks(first_pending);
  state.hbm_current = true;
  state.hbm_since = point;
}

void Game::WaitForWriteBack(uint32_t write_back) {
  const uint32_t first_pending = timeline_.first_pending();
  timeline_.WaitFor(write_back, timeline_.point());
  SettleWriteBacks(first_pending);
}

// A value is not changed while it is on its way out.
void Game::WaitForWriteBackOf(uint32_t buffer) {
  if (buffers_[buffer].write_back >= 0) {
    WaitForWriteBack(static_cast<uint32_t>(buffers_[buffer].write_back));
  }
}

void Game::QueueWriteBack(uint32_t buffer) {
  BufferState& state = buffers_[buffer];
  const uint32_t write_back = timeline_.QueueWriteBack(program().buffers()[buffer].bytes);
  write_back_stays_.push_back(static_cast<uint32_t>(state.stay));
  state.write_back = static_cast<int32_t>(write_back);
  state.hbm_current = false;
  stays_[state.stay].write_back = state.write_back;
  SettleWriteBacks(write_back);
}

void Game::KeepUntil(uint32_t buffer, int32_t until) {
  Stay& stay = stays_[buffers_[buffer].stay];
  // An update uses the bytes up to here; what it reserves beyond is for the accesses to come.
  const bool is_read = program().accesses()[access_].kind == AccessKind::kRead;
  stay.last = std::max(stay.last, is_read ? until : instruction_);
  stay.reserved = std::max(stay.reserved, until);
  SetTakenUntil(stay, TakenUntil(stay));
}

void Game::NewStay(const Stay& stay) {
  const auto index = static_cast<int32_t>(stays_.size());
  stays_.push_back(stay);
  stays_.back().taken_until = stay.reserved;
  buffers_[stay.buffer].stay = index;
  TakeBytes(index, stay.first);
}

void Game::TakeBytes(int32_t owner, int32_t first) {
  const Stay& stay = stays_[owner];
  const int64_t bytes = rules_->buffer(stay.buffer).bytes;
  // The write-backs of values that lose their bytes are done by then, and stay so.
  for (size_t r = memory_.IndexOf(stay.offset); r < memory_.regions().size(); ++r) {
    const FastMemory::Region region = memory_.regions()[r];
    if (region.offset >= stay.offset + bytes) break;
    if (region.owner == FastMemory::kNobody) continue;
    const int32_t write_back = stays_[region.owner].write_back;
    if (write_back < 0) continue;
    timeline_.WaitFor(static_cast<uint32_t>(write_back), static_cast<uint32_t>(first));
    stays_[region.owner].taken_until = std::max(region.last, first - 1);
    memory_.SetLast(region.offset, stays_[region.owner].taken_until);
  }
  scratch_.clear();
  memory_.Occupy(stay.offset, bytes, stay.taken_until, owner, scratch_);
  for (const int32_t loser : scratch_) {
    stays_[loser].holds_bytes = false;
    int32_t& current = buffers_[stays_[loser].buffer].stay;
    if (current == loser) current = -1;
  }
}

void Game::EndStay(uint32_t buffer) {
  const int32_t index = buffers_[buffer].stay;
  if (index < 0) return;
  buffers_[buffer].stay = -1;
  Stay& stay = stays_[index];
  stay.reserved = stay.last;
  memory_.SetNextUse(stay.offset, FastMemory::kForever);
  if (stay.write_back < 0) {
    ReleaseBytes(stay, stay.last);
  } else {
    SettleWriteBack(static_cast<uint32_t>(stay.write_back));
  }
}

void Game::SetNextUse(uint32_t stay, uint32_t access) {
  const int32_t next = rules_->access(access).next_access;
  memory_.SetNextUse(stays_[stay].offset,
                     next == ProgramRules::kNone
                         ? FastMemory::kForever
                         : static_cast<int32_t>(program().accesses()[next].instruction));
}

// Last instruction for which the bytes of a stay are taken.
int32_t Game::TakenUntil(const Stay& stay) const {
  int32_t last = std::max(stay.last, stay.reserved);
  if (stay.write_back < 0) return last;
  const int32_t done = timeline_.DoneAt(static_cast<uint32_t>(stay.write_back));
  return done == CopyTimeline::kPending ? FastMemory::kForever : std::max(last, done - 1);
}

void Game::SetTakenUntil(Stay& stay, int32_t last) {
  stay.taken_until = last;
  memory_.SetLast(stay.offset, last);
}

void Game::ReleaseBytes(Stay& stay, int32_t last) {
  stay.holds_bytes = false;
  stay.taken_until = last;
  memory_.Release(stay.offset, last);
}

// Tells the memory that write-backs from `first` on are done, or are not any more.
void Game::SettleWriteBacks(uint32_t first) {
  for (uint32_t w = first; w < timeline_.write_back_count(); ++w) SettleWriteBack(w);
}

void Game::SettleWriteBack(uint32_t write_back) {
  const auto owner = static_cast<int32_t>(write_back_stays_[write_back]);
  Stay& stay = stays_[owner];
  assert(stay.holds_bytes == (memory_.At(stay.offset).owner == owner));
  if (!stay.holds_bytes) return;
  const int32_t until = TakenUntil(stay);
  if (buffers_[stay.buffer].stay == owner || until == FastMemory::kForever) {
    if (until != stay.taken_until) SetTakenUntil(stay, until);
    return;
  }
  // Nobody remembers whose these bytes were: the write-back must stay as it is.
  timeline_.WaitFor(write_back, timeline_.point());
  ReleaseBytes(stay, std::max(until, instruction_ - 1));
}

}  // namespace mallocmuzero
