#include "env/program_rules.h"

#include <algorithm>
#include <utility>

#include "env/program_rules_builder.h"
#include "env/savings_bound.h"
#include "simulator/core/hardware.h"
#include "simulator/core/savings.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero {

ProgramRules ProgramRules::Builder::Build() {
  MarkLoops();
  MakeBuffers();
  rules_.all_hbm_cycles_ = CyclesBefore(program_).back();
  MakeCollectiveWaits();
  savings_ = SavingsBounds(program_);
  CountRoles();
  for (const CarriedGroupIndex g : program_.carried_groups().indices()) CheckGroupShape(g);
  DropBuffersBeyondTheRules();
  DropFlightsBeyondTheRules();
  DropNegligibleBuffers();
  rules_.accesses_.resize(program_.access_count());
  for (const BufferIndex b : program_.buffers().indices()) SetFlights(b);
  MakeGroups();
  MakeAccesses();
  FindPrefetch();
  return std::move(rules_);
}

void ProgramRules::Builder::MarkLoops() {
  const auto& loops = program_.loops();
  rules_.loop_of_marker_.assign(program_.instruction_count(), kNone);
  rules_.loop_groups_.resize(loops.size());
  for (const LoopIndex l : loops.indices()) {
    rules_.loop_of_marker_[loops[l].begin] = l;
    rules_.loop_of_marker_[loops[l].end] = l;
  }
  rules_.group_inside_.assign(program_.buffer_count(), kNone);
  for (const CarriedGroupIndex g : program_.carried_groups().indices()) {
    const CarriedGroup& group = program_.carried_groups()[g];
    rules_.loop_groups_[group.loop].push_back(g);
    rules_.group_inside_[group.parameter_buffer] = g;
    rules_.group_inside_[group.root_buffer] = g;
  }
}

// The waits for collectives with everything in HBM, and the cycles that they take.
void ProgramRules::Builder::MakeCollectiveWaits() {
  if (program_.link_events().empty()) return;
  const Trace trace = SimulateTrace(program_, AllHbmMapping(program_));
  for (const TraceStep& step : trace.steps) {
    rules_.all_hbm_collective_waits_.push_back(step.wait_for_collectives);
  }
  rules_.all_hbm_cycles_ += trace.price.collective_stall_cycles;
}

void ProgramRules::Builder::MakeBuffers() {
  const int64_t alignment = program_.hardware().fast_memory_alignment_bytes();
  rules_.buffers_.resize(program_.buffer_count());
  for (const BufferIndex b : program_.buffers().indices()) {
    const Buffer& buffer = program_.buffers()[b];
    BufferRule& rule = rules_.buffers_[b];
    rule.bytes = RoundUp(buffer.bytes, alignment);
    rule.stays_in_hbm =
        buffer.pinned_to_hbm || rule.bytes > program_.hardware().fast_memory_bytes();
    const auto accesses = program_.AccessesOfBuffer(b);
    const bool written_first =
        !accesses.empty() && program_.accesses()[accesses[0]].kind == AccessKind::kWrite;
    rule.starts_in_hbm = buffer.live_in || !written_first;
    rule.available = buffer.live_in ? 0 : buffer.first + 1;
    if (!buffer.live_in) {
      rule.defining_loop = program_.instructions()[buffer.first].loop;
      if (written_first) rule.defining_loop = LoopOf(accesses[0]);
    }
  }
  for (const CarriedGroup& group : program_.carried_groups()) {
    const Loop& loop = program_.loops()[group.loop];
    BufferRule& parameter = rules_.buffers_[group.parameter_buffer];
    BufferRule& result = rules_.buffers_[group.result_buffer];
    parameter.defining_loop = group.loop;
    parameter.available = loop.begin + 1;
    result.defining_loop = loop.parent;
    result.available = loop.end + 1;
    parameter.starts_in_hbm = result.starts_in_hbm = false;  // the loop gives them their values
  }
}

// Keeps buffers in HBM whose values the rules cannot follow. A value must be made in its defining
// loop and used only there or in loops inside. It must live up to the end of its last use.
void ProgramRules::Builder::DropBuffersBeyondTheRules() {
  live_until_.resize(program_.buffer_count());
  for (const BufferIndex b : live_until_.indices()) {
    live_until_[b] = program_.buffers()[b].last;
  }
  for (const CarriedGroup& group : program_.carried_groups()) {
    const Loop& loop = program_.loops()[group.loop];
    const auto live_at = [&](BufferIndex buffer, InstructionIndex marker) {
      live_until_[buffer] = std::max(live_until_[buffer], marker);
    };
    live_at(group.initial_buffer, loop.begin);
    live_at(group.root_buffer, loop.end);
    live_at(group.result_buffer, loop.end);
  }
  IndexVector<BufferIndex, InstructionIndex> last_user(program_.buffer_count(), kNone);
  for (const AccessIndex a : program_.accesses().indices()) {
    const Access& access = program_.accesses()[a];
    BufferRule& rule = rules_.buffers_[access.buffer];
    const InstructionIndex user = access.instruction;
    const bool used_twice = std::exchange(last_user[access.buffer], user) == user;
    const bool inside = rules_.IsInLoop(LoopOf(a), rule.defining_loop);
    const bool changes = access.kind != AccessKind::kRead;
    const bool made_inside = changes && LoopOf(a) != rule.defining_loop;
    // A value that a pass changes for the next pass must be in a carried group.
    const bool carried_alone = changes && rule.defining_loop != kNone && rule.starts_in_hbm;
    const bool dies_early =
        rules_.SpanEnd(access.instruction, rule.defining_loop) > live_until_[access.buffer];
    if (!inside || made_inside || carried_alone || dies_early || used_twice) {
      rule.stays_in_hbm = true;
    }
  }
}

void ProgramRules::Builder::DropNegligibleBuffers() {
  // The buffers of a group are in fast memory together, so their savings count together.
  IndexVector<BufferIndex, double> together = savings_;
  for (const CarriedGroup& group : program_.carried_groups()) {
    const BufferIndex members[] = {group.initial_buffer, group.parameter_buffer, group.root_buffer,
                                   group.result_buffer};
    double sum = 0;
    for (const BufferIndex b : members) sum += savings_[b];
    for (const BufferIndex b : members) together[b] = std::max(together[b], sum);
  }
  const double least = options_.negligible_share * rules_.all_hbm_cycles_;
  for (const BufferIndex b : program_.buffers().indices()) {
    if (together[b] <= least) rules_.buffers_[b].stays_in_hbm = true;
    // All accesses of such a buffer use HBM, so nothing waits for its values.
    if (rules_.buffers_[b].stays_in_hbm) rules_.buffers_[b].starts_in_hbm = true;
  }
}

ProgramRules::Builder::ValueUses ProgramRules::Builder::UsesFrom(AccessIndex a,
                                                                 const ValueUses& later) const {
  const Access& access = program_.accesses()[a];
  if (access.kind == AccessKind::kWrite) return {.next_write = access.instruction};
  const InstructionIndex end =
      rules_.SpanEnd(access.instruction, rules_.buffers_[access.buffer].defining_loop);
  ValueUses uses = later;
  uses.last_use = std::max(uses.last_use, end);
  // While a collective is in flight, an update cannot write the value back: it counts as a read.
  const InstructionIndex flight_done = rules_.accesses_[a].flight_done;
  const bool in_flight = flight_done != kNone && access.instruction < flight_done;
  if (access.kind == AccessKind::kUpdate && !in_flight) {
    uses.next_update = access.instruction;
    uses.last_read = kNone;  // the reads after the update are of its value
  } else {
    uses.last_read = std::max(uses.last_read, end);
  }
  return uses;
}

ProgramRules::Builder::ValueUses ProgramRules::Builder::UsesByAll(BufferIndex b) const {
  const auto accesses = program_.AccessesOfBuffer(b);
  ValueUses uses;
  for (size_t k = accesses.size(); k-- > 0;) uses = UsesFrom(accesses[k], uses);
  return uses;
}

void ProgramRules::Builder::MakeAccesses() {
  for (const BufferIndex b : program_.buffers().indices()) {
    const auto accesses = program_.AccessesOfBuffer(b);
    ValueUses uses;  // by the accesses after access k
    for (size_t k = accesses.size(); k-- > 0;) {
      AccessRule& rule = rules_.accesses_[accesses[k]];
      if (k + 1 < accesses.size()) rule.next_access = accesses[k + 1];
      if (rules_.buffers_[b].stays_in_hbm) continue;
      const ValueUses later = std::exchange(uses, UsesFrom(accesses[k], uses));
      if (KindOf(accesses[k]) != AccessKind::kRead) {
        SetKeepUntil(accesses[k], later, rule);
      } else if (k > 0 && KindOf(accesses[k - 1]) == AccessKind::kWrite) {
        rule.follows_write = true;
      }
      if (KindOf(accesses[k]) == AccessKind::kRead && rule.starts_flight) {
        SetMayFly(accesses.subspan(k + 1), rule);
      }
      if (KindOf(accesses[k]) == AccessKind::kWrite) rule.copy_until = CopyUntil(b, k);
    }
    const CarriedGroupIndex g = rules_.group_inside_[b];
    if (g == kNone || !rules_.groups_[g].may_be_fast || accesses.empty()) continue;
    const bool uses_value = program_.accesses()[accesses[0]].kind != AccessKind::kWrite;
    if (uses_value && program_.carried_groups()[g].parameter_buffer == b) {
      rules_.accesses_[accesses[0]].take_over = g;
    }
  }
}

void ProgramRules::Builder::SetKeepUntil(AccessIndex a, const ValueUses& uses,
                                         AccessRule& rule) const {
  const BufferIndex b = program_.accesses()[a].buffer;
  const InstructionIndex made = program_.accesses()[a].instruction;
  // At the begin of a loop an initial value is in HBM, or in fast memory with its whole group.
  const CarriedGroupIndex g = GroupTakingOver(b, made, uses.next_change());
  if (g != kNone) {
    const LoopIndex around = program_.loops()[program_.carried_groups()[g].loop].parent;
    if (!rules_.groups_[g].may_be_fast || rules_.buffers_[b].defining_loop != around) return;
    rule.feeds_group = g;
    rule.keep_until = rules_.groups_[g].keep_until;
    return;
  }
  if (KindOf(a) == AccessKind::kWrite && uses.last_use == kNone) return;
  // A parameter or root must be in HBM at the end of its loop unless its group is in fast memory.
  // The game handles groups in fast memory itself.
  const bool must_reach_hbm =
      uses.next_write == kNone && (program_.buffers()[b].live_out || roles_[b].inside > 0);
  if (!must_reach_hbm && GroupTakingOver(b, made, uses.next_write) == kNone) {
    rule.keep_until_end = std::max(made, uses.last_use);
  }
  rule.keep_until =
      uses.next_update != kNone ? std::max(made, uses.next_update) : rule.keep_until_end;
  for (InstructionIndex* until : {&rule.keep_until, &rule.keep_until_end}) {
    if (*until != kNone) *until = std::max(*until, rule.flight_done);
  }
}

InstructionIndex ProgramRules::Builder::CopyUntil(BufferIndex b, size_t k) const {
  const auto accesses = program_.AccessesOfBuffer(b);
  const auto made = program_.accesses()[accesses[k]].instruction;
  // The write-back of a value that is made in flight would copy half a result.
  if (rules_.accesses_[accesses[k]].flight_done != kNone) return kNone;
  // A value whose first use is an update goes to fast memory only: the update can write it back.
  if (k + 1 == accesses.size() || KindOf(accesses[k + 1]) != AccessKind::kRead) return kNone;
  if (!rules_.accesses_[accesses[k + 1]].may_fly_written_back) return kNone;
  const InstructionIndex read = program_.accesses()[accesses[k + 1]].instruction;
  // If a loop begins before the read, the loop is the first use, and it finds the value in HBM.
  if (GroupTakingOver(b, made, read) != kNone) return kNone;
  return rules_.SpanEnd(read, rules_.buffers_[b].defining_loop);
}

void ProgramRules::Builder::FindPrefetch() {
  rules_.uses_prefetch_.assign(program_.access_count(), 0);
  if (program_.baseline() == nullptr) return;
  const Mapping& baseline = program_.baseline()->mapping;
  for (const Interval& interval : baseline.intervals) {
    if (!interval.cross_program_prefetch) continue;
    const BufferIndex b = interval.buffer;
    const BufferRule& rule = rules_.buffers_[b];
    if (program_.buffers()[b].pinned_to_hbm || !program_.buffers()[b].live_in) return;
    if (roles_[b].inside > 0 || roles_[b].result > 0) return;  // a loop changes its value
    if (!program_.FlightsOf(b).empty()) return;                // it may end within a flight
    if (rules_.fast_memory_bytes() < rule.bytes) return;
    const InstructionIndex last = std::min(interval.last, live_until_[b]);
    for (const AccessIndex a : program_.AccessesOfBuffer(b)) {
      const Access& access = program_.accesses()[a];
      if (access.instruction > last) break;
      if (access.kind != AccessKind::kRead) return;
      const InstructionIndex until = rules_.SpanEnd(access.instruction, kNone);
      if (until > last) return;
    }
    rules_.prefetch_ = {b, last};
    for (const AccessIndex a : program_.AccessesOfBuffer(b)) {
      if (program_.accesses()[a].instruction > last) break;
      rules_.uses_prefetch_[a] = baseline.in_fast_memory[a];
    }
    return;
  }
}

ProgramRules ProgramRules::Create(const Program& program, const GameOptions& options) {
  return Builder(program, options).Build();
}

}  // namespace mallocmuzero
