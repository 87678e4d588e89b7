// The effects of actions.

#include <algorithm>
#include <cassert>

#include "env/game.h"

namespace mallocmuzero {

void Game::ApplyToAccess(Action action) {
  const AccessIndex a = state_.access;
  const BufferIndex buffer = program().accesses()[a].buffer;
  const CarriedGroupIndex group = rules().access(a).take_over;
  if (group != ProgramRules::kNone &&
      state_.residency.group(group) == Residency::GroupSpace::kOpen) {
    // The first access of the parameter decides for the whole group.
    if (action == Action::kNoCopy) {
      TakeOver(group);
    } else {
      state_.residency.SetGroup(group, Residency::GroupSpace::kHbm);
    }
  }
  switch (program().accesses()[a].kind) {
    case AccessKind::kRead:
      Read(buffer, action);
      break;
    case AccessKind::kWrite:
      Write(buffer, action);
      break;
    case AccessKind::kUpdate:
      Update(buffer, action);
      break;
  }
  if (action != Action::kDrop) SetFast(a);
  if (rules().access(a).starts_flight) StartFlight(buffer, action);
  state_.residency.SetNextUseAfter(a);
  ++state_.access;
}

void Game::Read(BufferIndex buffer, Action action) {
  switch (action) {
    case Action::kCopy:
      CopyIn(buffer);
      break;
    case Action::kNoCopy: {
      // The value must not be on its way to HBM while a collective is in flight.
      if (rules().access(state_.access).starts_flight) WaitForWriteBackOf(buffer);
      const InstructionIndex until = std::max(state_.instruction, options_.keep_until);
      state_.residency.Extend(buffer, until, until);
      break;
    }
    case Action::kDrop:
      NeedHbm(buffer, state_.instruction);
      break;
  }
}

void Game::Write(BufferIndex buffer, Action action) {
  if (state_.residency.IsCarriedFast(buffer)) {
    if (!state_.residency.Holds(buffer)) state_.hbm.Mutable(buffer) = HbmValue();
    state_.residency.WriteCarriedRoot(buffer, state_.instruction);
    return;
  }
  if (action == Action::kDrop) {
    WriteOnlyToHbm(buffer);
    return;
  }
  Fix(state_.residency.MakePlace(options_.place));
  WaitForWriteBackOf(buffer);
  Fix(state_.residency.End(buffer, state_.instruction));
  Stay stay;
  stay.buffer = buffer;
  stay.first = stay.last = state_.instruction;
  stay.offset = options_.place.offset;
  stay.loop = program().instructions()[state_.instruction].loop;
  stay.reserved =
      action == Action::kNoCopy ? options_.keep_until : rules().access(state_.access).copy_until;
  Fix(state_.residency.Add(stay));
  FinishWrite(buffer, action);
}

void Game::Update(BufferIndex buffer, Action action) {
  if (action == Action::kDrop) {
    WriteOnlyToHbm(buffer);
    return;
  }
  const InstructionIndex now = state_.instruction;
  if (action == Action::kNoCopy) {
    state_.residency.Extend(buffer, now, std::max(now, options_.keep_until));
  } else if (options_.copy_in.start >= 0) {
    CopyIn(buffer);
  } else {
    state_.residency.Extend(buffer, now, now);
  }
  WaitForWriteBackOf(buffer);
  FinishWrite(buffer, action);
}

// After the access by which a collective takes off. In fast memory the buffer stays at its address
// up to the done. If the collective works in HBM, no access of the flight may use a stay.
void Game::StartFlight(BufferIndex buffer, Action action) {
  const InstructionIndex done = rules().access(state_.access).flight_done;
  if (action == Action::kDrop) {
    Fix(state_.residency.End(buffer, state_.instruction));
  } else {
    state_.residency.Extend(buffer, done, done);
  }
}

void Game::WriteOnlyToHbm(BufferIndex buffer) {
  WaitForWriteBackOf(buffer);
  Fix(state_.residency.End(buffer, state_.instruction));
  state_.hbm.Mutable(buffer) = {.current_since = state_.instruction + 1};
}

// After a write or update has put a new value into fast memory.
void Game::FinishWrite(BufferIndex buffer, Action action) {
  state_.hbm.Mutable(buffer) = HbmValue();
  const CarriedGroupIndex group = rules().access(state_.access).feeds_group;
  if (action == Action::kCopy) {
    QueueWriteBack(buffer);
  } else if (group != ProgramRules::kNone) {
    state_.residency.SetGroup(group, Residency::GroupSpace::kFast);
  }
}

void Game::CopyIn(BufferIndex buffer) {
  const Options::CopyIn& copy = options_.copy_in;
  Fix(state_.residency.MakePlace(options_.place));
  NeedHbm(buffer, copy.start);
  Fix(state_.residency.End(buffer, state_.instruction));
  const WriteBackIndex touched = state_.timeline.Insert(
      {copy.start, copy.done, static_cast<double>(program().buffers()[buffer].bytes)});
  Stay stay;
  stay.buffer = buffer;
  stay.first = copy.start;
  stay.last = stay.reserved = copy.until;
  stay.offset = options_.place.offset;
  stay.copy_in_start = copy.start;
  stay.copy_in_done = copy.done;
  stay.loop = copy.loop;
  Fix(state_.residency.Add(stay));
  SettleWriteBacks(touched);
}

// Makes sure that HBM has the value at a point, whatever is queued later.
void Game::NeedHbm(BufferIndex buffer, InstructionIndex point) {
  if (state_.hbm[buffer].is_current()) return;
  HbmValue& hbm = state_.hbm.Mutable(buffer);
  const WriteBackIndex first_pending = timeline().first_pending();
  state_.timeline.WaitFor(hbm.write_back, point);
  SettleWriteBacks(first_pending);
  hbm.current_since = point;
}

void Game::WaitForWriteBack(WriteBackIndex write_back) {
  const WriteBackIndex first_pending = timeline().first_pending();
  state_.timeline.WaitFor(write_back, timeline().point());
  SettleWriteBacks(first_pending);
}

// Waits also for write-backs that are done: later copies must not delay them beyond this point.
void Game::WaitForAllWriteBacks() {
  if (timeline().write_back_count() > 0) WaitForWriteBack(timeline().write_back_count() - 1);
}

// A value must not change while it is copied to HBM.
void Game::WaitForWriteBackOf(BufferIndex buffer) {
  if (state_.hbm[buffer].write_back >= 0) {
    WaitForWriteBack(state_.hbm[buffer].write_back);
  }
}

void Game::QueueWriteBack(BufferIndex buffer) {
  const WriteBackIndex write_back =
      state_.timeline.QueueWriteBack(program().buffers()[buffer].bytes);
  write_back_stays_.push_back(state_.residency.StayOf(buffer));
  state_.residency.SetWriteBack(buffer, write_back);
  state_.hbm.Mutable(buffer) = {.write_back = write_back};
}

// Tells the residency which write-backs from `first` on are done, and which are not any more.
void Game::SettleWriteBacks(WriteBackIndex first) {
  for (WriteBackIndex w = first; w < timeline().write_back_count(); ++w) {
    const InstructionIndex done = timeline().DoneAt(w);
    const InstructionIndex until =
        done == CopyTimeline::kPending ? InstructionIndex(Residency::kForever) : done - 1;
    Fix(state_.residency.SettleWriteBack(write_back_stays_[w], until, state_.instruction));
  }
}

void Game::Fix(absl::Span<const FixedWriteBack> write_backs) {
  for (const FixedWriteBack& fixed : write_backs) {
    state_.timeline.WaitFor(fixed.write_back, fixed.point);
  }
}

}  // namespace mallocmuzero
