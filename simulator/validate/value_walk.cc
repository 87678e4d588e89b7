#include "simulator/validate/value_walk.h"

#include "absl/strings/str_cat.h"

namespace mallocmuzero::validate {
namespace {

// For each buffer: true if a loop hands it a value that it does not have already.
std::vector<bool> MadeByLoops(const Program& program) {
  std::vector<bool> made(program.buffer_count());
  for (const CarriedGroup& group : program.carried_groups()) {
    for (const BufferIndex buffer : {group.parameter_buffer, group.result_buffer}) {
      if (buffer != group.initial_buffer) made[buffer.number()] = true;
    }
  }
  return made;
}

// True if the first access writes the value.
bool MadeByAccess(const Program& program, BufferIndex buffer) {
  const absl::Span<const AccessIndex> accesses = program.AccessesOfBuffer(buffer);
  return !accesses.empty() && program.accesses()[accesses.front()].kind == AccessKind::kWrite;
}

// The point at which the last piece of a copy in is queued.
InstructionIndex LastSliceStart(const Interval& it) {
  return it.copy_in_slices.empty() ? it.copy_in_start : it.copy_in_slices.back().start;
}

}  // namespace

ValueWalk::ValueWalk(const Program& program, const Mapping& mapping, Report& report)
    : program_(program),
      mapping_(mapping),
      report_(report),
      buffers_(program.buffer_count()),
      intervals_(mapping.intervals.size()),
      is_in_use_(mapping.intervals.size()),
      intervals_of_(ListIntervals(program, mapping)),
      events_before_(size_t{program.instruction_count()} + 1),
      loop_at_(program.instruction_count()),
      groups_of_(program.loops().size()) {
  for (size_t k = 0; k < mapping.intervals.size(); ++k) {
    const Interval& it = mapping.intervals[k];
    for (const InstructionIndex point :
         {it.first, it.copy_in_start, it.copy_in_done, it.copy_out_start, it.copy_out_done}) {
      if (point < 0) continue;
      std::vector<size_t>& events = events_before_[point];
      if (events.empty() || events.back() != k) events.push_back(k);
    }
  }
  for (const LoopIndex l : program.loops().indices()) loop_at_[program.loops()[l].begin] = l;
  for (const CarriedGroupIndex g : program.carried_groups().indices()) {
    groups_of_[program.carried_groups()[g].loop].push_back(g);
  }
}

void ValueWalk::Run() {
  const std::vector<bool> made_by_loops = MadeByLoops(program_);
  for (const BufferIndex b : program_.buffers().indices()) {
    buffers_[b].current = NewVersion();
    // What neither a loop nor an access makes has been made elsewhere, and is in HBM.
    const bool is_made_here = made_by_loops[b.number()] || MadeByAccess(program_, b);
    if (program_.buffers()[b].live_in || !is_made_here) buffers_[b].hbm = buffers_[b].current;
  }
  RunRange(0, program_.instructions().end_index());
  RunCopiesBefore(program_.instructions().end_index());
  CheckLiveOuts();
}

void ValueWalk::RunRange(InstructionIndex first, InstructionIndex end) {
  for (InstructionIndex i = first; i < end; ++i) {
    RunCopiesBefore(i);
    const Instruction& instruction = program_.instructions()[i];
    if (instruction.kind == InstructionKind::kLoopBegin) {
      const LoopIndex loop = loop_at_[i];
      RunLoop(loop);
      i = program_.loops()[loop].end;
      continue;
    }
    for (uint32_t a = 0; a < instruction.access_count; ++a) {
      RunAccess(instruction.first_access + a);
    }
  }
}

void ValueWalk::RunLoop(LoopIndex loop) {
  const InstructionIndex begin = program_.loops()[loop].begin;
  const InstructionIndex end = program_.loops()[loop].end;
  Cross(loop, Crossing::kEntry);
  ++depth_;
  RunRange(begin + 1, end);
  RunCopiesBefore(end);
  if (depth_ <= kMaxDoubledLoopDepth) {
    later_passes_.push_back(loop);
    Cross(loop, Crossing::kBackEdge);
    RunRange(begin + 1, end);
    RunCopiesBefore(end);
    later_passes_.pop_back();
  }
  --depth_;
  Cross(loop, Crossing::kExit);
}

void ValueWalk::RunCopiesBefore(InstructionIndex instruction) {
  for (const size_t k : events_before_[instruction]) {
    const Interval& it = mapping_.intervals[k];
    if (it.first != instruction) continue;
    intervals_[k] = IntervalState();
    if (it.cross_program_prefetch) StateToSet(k).content = buffers_[it.buffer].current;
  }
  for (const size_t k : events_before_[instruction]) {
    const Interval& it = mapping_.intervals[k];
    if (it.copy_in_done == instruction && LastSliceStart(it) < instruction) FinishCopyIn(k);
    if (it.copy_out_done == instruction && it.copy_out_start < instruction) FinishCopyOut(k);
  }
  for (const size_t k : events_before_[instruction]) {
    if (mapping_.intervals[k].copy_in_start == instruction) QueueCopyIn(k);
    if (mapping_.intervals[k].copy_out_start == instruction) QueueCopyOut(k);
  }
  for (const size_t k : events_before_[instruction]) {
    if (mapping_.intervals[k].copy_in_done == instruction) FinishCopyIn(k);
    if (mapping_.intervals[k].copy_out_done == instruction) FinishCopyOut(k);
  }
}

void ValueWalk::FinishCopyIn(size_t interval) {
  IntervalState& state = intervals_[interval];
  if (state.inbound == kNone) return;
  state.content = state.inbound;
  state.inbound = kNone;
}

void ValueWalk::FinishCopyOut(size_t interval) {
  IntervalState& state = intervals_[interval];
  if (state.outbound == kNone) return;
  buffers_[mapping_.intervals[interval].buffer].hbm = state.outbound;
  state.outbound = kNone;
}

void ValueWalk::QueueCopyIn(size_t interval) {
  const Interval& it = mapping_.intervals[interval];
  if (!HbmIsCurrent(it.buffer)) {
    Complain(
        Rule::kCopySourceStale, interval,
        absl::StrCat(report_.DescribeInterval(interval), ": its copy in starts before ",
                     report_.DescribeInstruction(it.copy_in_start),
                     WriteBackInFlight(it.buffer) ? ", when the write-back to HBM has not finished"
                                                  : ", when HBM does not hold the current value"));
  }
  IntervalState& state = StateToSet(interval);
  state.content = kNone;
  state.inbound = buffers_[it.buffer].current;
}

void ValueWalk::QueueCopyOut(size_t interval) {
  const Interval& it = mapping_.intervals[interval];
  IntervalState& state = StateToSet(interval);
  if (state.content != buffers_[it.buffer].current) {
    Complain(Rule::kCopySourceStale, interval,
             absl::StrCat(report_.DescribeInterval(interval), ": its copy out starts before ",
                          report_.DescribeInstruction(it.copy_out_start),
                          ", when the interval does not hold the current value"));
  }
  state.outbound = buffers_[it.buffer].current;
}

void ValueWalk::RunAccess(AccessIndex access) {
  const AccessKind kind = program_.accesses()[access].kind;
  const bool in_fast_memory = mapping_.in_fast_memory[access] != 0;
  if (kind != AccessKind::kWrite) {
    in_fast_memory ? ReadInFastMemory(access) : ReadInHbm(access);
  }
  if (kind != AccessKind::kRead) {
    in_fast_memory ? WriteInFastMemory(access) : WriteInHbm(access);
  }
}

std::vector<size_t> ValueWalk::IntervalsAt(const Access& access) const {
  std::vector<size_t> found;
  for (const size_t k : intervals_of_[access.buffer]) {
    const Interval& it = mapping_.intervals[k];
    if (it.first <= access.instruction && access.instruction <= it.last) found.push_back(k);
  }
  return found;
}

void ValueWalk::ReadInFastMemory(AccessIndex access) {
  const Access& a = program_.accesses()[access];
  const std::vector<size_t> found = IntervalsAt(a);
  if (found.empty()) {
    Complain(Rule::kNoInterval, access,
             absl::StrCat(report_.DescribeAccess(access),
                          " in fast memory: no interval of the buffer contains the instruction"));
    return;
  }
  bool pending = false;
  for (const size_t k : found) {
    if (intervals_[k].content == buffers_[a.buffer].current) return;
    pending = pending || intervals_[k].inbound == buffers_[a.buffer].current;
  }
  if (pending) {
    Complain(Rule::kCopyInPending, access,
             absl::StrCat(report_.DescribeAccess(access), " in fast memory: the copy in of ",
                          report_.DescribeInterval(found[0]), " has not been waited for"));
    return;
  }
  Complain(Rule::kFastMemoryStale, access,
           absl::StrCat(report_.DescribeAccess(access), " in fast memory: ",
                        report_.DescribeInterval(found[0]), " does not hold the current value"));
}

void ValueWalk::WriteInFastMemory(AccessIndex access) {
  const Access& a = program_.accesses()[access];
  const std::vector<size_t> found = IntervalsAt(a);
  if (found.size() != 1) {
    Complain(found.empty() ? Rule::kNoInterval : Rule::kAmbiguousInterval, access,
             absl::StrCat(report_.DescribeAccess(access), " in fast memory: ",
                          found.empty() ? "no interval" : "more than one interval",
                          " of the buffer contains the instruction"));
    AssumeCurrentEverywhere(a.buffer);
    return;
  }
  IntervalState& state = StateToSet(found[0]);
  const Version made = NewVersion();
  if (state.inbound != kNone || state.outbound != kNone) {
    Complain(Rule::kWriteDuringCopy, access,
             absl::StrCat(report_.DescribeAccess(access), " in fast memory while the copy ",
                          state.inbound != kNone ? "in" : "out", " of ",
                          report_.DescribeInterval(found[0]), " is in flight"));
    if (state.inbound != kNone) state.inbound = made;
  }
  state.content = made;
  buffers_[a.buffer].current = made;
}

void ValueWalk::ReadInHbm(AccessIndex access) {
  const Access& a = program_.accesses()[access];
  if (HbmIsCurrent(a.buffer)) return;
  Complain(Rule::kHbmStale, access,
           absl::StrCat(report_.DescribeAccess(access), " in HBM: ",
                        WriteBackInFlight(a.buffer) ? "the write-back has not been waited for"
                                                    : "HBM does not hold the current value"));
}

void ValueWalk::WriteInHbm(AccessIndex access) {
  const Access& a = program_.accesses()[access];
  const Version made = NewVersion();
  buffers_[a.buffer].hbm = made;
  buffers_[a.buffer].current = made;
  for (const size_t k : intervals_of_[a.buffer]) {
    IntervalState& state = intervals_[k];
    if (state.inbound == kNone && state.outbound == kNone) continue;
    Complain(Rule::kWriteDuringCopy, access,
             absl::StrCat(report_.DescribeAccess(access), " in HBM while the copy ",
                          state.inbound != kNone ? "in" : "out", " of ",
                          report_.DescribeInterval(k), " is in flight"));
    if (state.outbound != kNone) state.outbound = made;
  }
}

std::vector<ValueWalk::Handover> ValueWalk::HandoversOf(LoopIndex loop, Crossing crossing) const {
  std::vector<Handover> handovers;
  for (const CarriedGroupIndex g : groups_of_[loop]) {
    const CarriedGroup& group = program_.carried_groups()[g];
    const CarriedPlace place = PlaceOfGroup(program_, mapping_, intervals_of_, group);
    Handover handover;
    handover.group = g;
    handover.in_fast_memory = place.in_fast_memory;
    handover.well_placed = place.Unambiguous();
    const bool entry = crossing == Crossing::kEntry;
    const bool exit = crossing == Crossing::kExit;
    handover.from = entry ? group.initial_buffer : group.root_buffer;
    handover.to = exit ? group.result_buffer : group.parameter_buffer;
    handover.value = buffers_[handover.from].current;
    handover.marker = entry ? program_.loops()[loop].begin : program_.loops()[loop].end;
    if (handover.in_fast_memory && handover.well_placed) {
      handover.from_interval = entry ? place.initial[0] : place.root[0];
      handover.to_interval = exit ? place.result[0] : place.parameter[0];
    }
    handovers.push_back(handover);
  }
  return handovers;
}

void ValueWalk::CheckHandover(const Handover& handover) {
  const BufferState& from = buffers_[handover.from];
  const size_t subject = program_.buffer_count() * handover.group.number() + handover.from.number();
  if (handover.in_fast_memory) {
    const IntervalState& state = intervals_[handover.from_interval];
    if (state.content == from.current) return;
    Complain(Rule::kCarriedValueLost, subject,
             absl::StrCat(report_.DescribeGroup(handover.group), " is in fast memory, but ",
                          report_.DescribeInterval(handover.from_interval),
                          state.inbound != kNone ? " waits for its copy in at "
                                                 : " does not hold the current value at ",
                          report_.DescribeInstruction(handover.marker)));
    return;
  }
  if (HbmIsCurrent(handover.from)) return;
  Complain(Rule::kCarriedValueLost, subject,
           absl::StrCat(report_.DescribeGroup(handover.group), " is in HBM, but ",
                        WriteBackInFlight(handover.from) ? "the write-back of "
                                                         : "HBM has no current value of ",
                        report_.DescribeBuffer(handover.from),
                        WriteBackInFlight(handover.from) ? " has not finished at " : " at ",
                        report_.DescribeInstruction(handover.marker)));
}

void ValueWalk::EndPass(const Loop& loop) {
  std::erase_if(in_use_, [&](size_t k) {
    const Interval& it = mapping_.intervals[k];
    if (it.first <= loop.begin && it.last >= loop.end) return false;
    intervals_[k] = IntervalState();
    is_in_use_[k] = false;
    return true;
  });
}

void ValueWalk::Cross(LoopIndex loop, Crossing crossing) {
  // All values pass at the same time, because a root may be the parameter of another group.
  const std::vector<Handover> handovers = HandoversOf(loop, crossing);
  for (const Handover& handover : handovers) {
    if (handover.well_placed) CheckHandover(handover);
  }
  if (crossing == Crossing::kBackEdge) EndPass(program_.loops()[loop]);
  for (const Handover& handover : handovers) {
    if (!handover.well_placed) {
      AssumeCurrentEverywhere(handover.to);
      continue;
    }
    BufferState& to = buffers_[handover.to];
    to.current = handover.value;
    if (handover.in_fast_memory) {
      if (handover.from != handover.to) to.hbm = kNone;
      StateToSet(handover.to_interval).content = handover.value;
    } else {
      to.hbm = handover.value;
    }
  }
}

void ValueWalk::CheckLiveOuts() {
  for (const BufferIndex b : program_.buffers().indices()) {
    if (!program_.buffers()[b].live_out || HbmIsCurrent(b)) continue;
    Complain(Rule::kLiveOutNotInHbm, b,
             absl::StrCat("live-out ", report_.DescribeBuffer(b),
                          " is not current in HBM at the end of the program"));
  }
}

ValueWalk::IntervalState& ValueWalk::StateToSet(size_t interval) {
  if (!is_in_use_[interval]) in_use_.push_back(interval);
  is_in_use_[interval] = true;
  return intervals_[interval];
}

bool ValueWalk::WriteBackInFlight(BufferIndex buffer) const {
  for (const size_t k : intervals_of_[buffer]) {
    if (intervals_[k].outbound != kNone) return true;
  }
  return false;
}

void ValueWalk::AssumeCurrentEverywhere(BufferIndex buffer) {
  const Version value = NewVersion();
  buffers_[buffer] = {value, value};
  for (const size_t k : intervals_of_[buffer]) {
    IntervalState& state = StateToSet(k);
    state.content = value;
    if (state.inbound != kNone) state.inbound = value;
    if (state.outbound != kNone) state.outbound = value;
  }
}

std::string ValueWalk::PassText() const {
  if (later_passes_.empty()) return "";
  return absl::StrCat(", in a later pass of ", report_.DescribeLoop(later_passes_.front()));
}

}  // namespace mallocmuzero::validate
