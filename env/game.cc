#include "env/game.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "env/refused_requests.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero {

Game::Game(const ProgramRules& rules)
    : state_(rules),
      latency_cycles_(rules.all_hbm_cycles()),
      in_fast_memory_(rules.access_count(), 0) {
  PlaceCrossProgramPrefetch();
  if (program().instruction_count() > 0) AdvanceToDecision();
  initial_return_ = total_return();
}

void Game::PlaceCrossProgramPrefetch() {
  const BufferIndex buffer = rules().prefetch().buffer;
  if (buffer == ProgramRules::kNone) return;
  Stay stay;
  stay.buffer = buffer;
  stay.last = rules().prefetch().last;
  stay.cross_program_prefetch = true;
  stay.reserved = stay.last;
  Fix(state_.residency.Add(stay));
}

double Game::Apply(Action action) {
  assert(IsLegal(action));
  const double before = cycles();
  history_.push_back(action);
  ApplyToAccess(action);
  AdvanceToDecision();
  return rules().ShareOfAllHbm(before - cycles());
}

void Game::AdvanceToDecision() {
  if (state_.instruction < 0) {
    state_.instruction = 0;
    state_.links.Reach(0, program().link_events());
    EnterInstruction();
  }
  RefusedRequests refused;
  while (true) {
    const Instruction& instruction = program().instructions()[state_.instruction];
    while (state_.access < instruction.first_access + instruction.access_count) {
      options_ = Legal(state_, &refused);
      assert(options_.actions != 0);
      if (CountOf(options_.actions) > 1) return;
      const auto action = static_cast<Action>(__builtin_ctz(options_.actions));
      if (action != Action::kDrop || !DropLeavesFastMemory()) refused.Clear();
      ApplyToAccess(action);
    }
    options_ = Options();
    refused.Clear();
    LeaveInstruction();
    if (state_.instruction == program().instructions().end_index()) break;
    EnterInstruction();
  }
  WaitForAllWriteBacks();
}

// Whether the current access can take Drop without an effect on fast memory: no stay ends, no group
// is decided, and no write-back is waited for.
bool Game::DropLeavesFastMemory() const {
  const Access& access = program().accesses()[state_.access];
  const HbmValue& hbm = state_.hbm[access.buffer];
  const bool waits = access.kind == AccessKind::kRead ? !hbm.is_current() : hbm.write_back >= 0;
  return !waits && !state_.residency.Holds(access.buffer) &&
         rules().access(state_.access).take_over == ProgramRules::kNone;
}

bool Game::Follow(IndexSpan<AccessIndex, const Action> plan, AccessIndex end,
                  absl::FunctionRef<bool()> give_up) {
  if (state_.access >= end) return true;
  bool goes_on = !give_up();
  while (goes_on) {
    ApplyToAccess(Choose(plan[state_.access], options_.actions));
    if (state_.access >= end) break;
    AdvanceToAccess();
    options_ = Legal(state_, plan[state_.access]);
    goes_on = !give_up();
  }
  AdvanceToDecision();
  return goes_on;
}

// Goes to the instruction of the current access, which is not the end of the program.
void Game::AdvanceToAccess() {
  while (state_.instruction < program().accesses()[state_.access].instruction) {
    LeaveInstruction();
    EnterInstruction();
  }
}

void Game::EnterInstruction() {
  fast_mask_ = 0;
  instruction_cycles_ = program().latency().Cycles(state_.instruction, 0);
  const Instruction& instruction = program().instructions()[state_.instruction];
  const LoopIndex loop = rules().LoopOfMarker(state_.instruction);
  if (instruction.kind == InstructionKind::kLoopBegin) EnterLoop(loop);
  if (instruction.kind == InstructionKind::kLoopEnd) LeaveLoop(loop);
}

void Game::LeaveInstruction() {
  const InstructionIndex i = state_.instruction;
  const double cycles = instruction_cycles_;
  const WriteBackIndex first_pending = timeline().first_pending();
  double idle_bytes = IdleBytes(program(), i, fast_mask_, cycles);
  if (!program().link_events().empty()) {
    idle_bytes += PassLinks(cycles) * program().hardware().hbm_bytes_per_cycle();
  }
  state_.timeline.Advance(idle_bytes);
  ++state_.instruction;
  if (timeline().first_pending() != first_pending) SettleWriteBacks(first_pending);
}

// Lets the links work while the current instruction runs for `cycles`, and moves them to the next
// point. Returns the cycles that the program waits there for collectives.
double Game::PassLinks(double cycles) {
  const InstructionIndex next = state_.instruction + 1;
  state_.links.Advance(timeline().StallNow() + cycles);
  const double wait = state_.links.Reach(next, program().link_events());
  const double executions = next == program().instructions().end_index()
                                ? 1
                                : program().instructions()[next].execution_count;
  latency_cycles_ += (wait - rules().AllHbmCollectiveWait(next)) * executions;
  return wait;
}

void Game::SetFast(AccessIndex access) {
  const InstructionIndex i = state_.instruction;
  const Instruction& instruction = program().instructions()[i];
  fast_mask_ |= uint64_t{1} << (access - instruction.first_access);
  const double cycles = program().latency().Cycles(i, fast_mask_);
  latency_cycles_ += (cycles - instruction_cycles_) * instruction.execution_count;
  instruction_cycles_ = cycles;
  in_fast_memory_[access] = 1;
}

Game::HbmCopy Game::hbm_copy(BufferIndex buffer) const {
  const HbmValue& hbm = state_.hbm[buffer];
  if (hbm.is_current()) return HbmCopy::kCurrent;
  if (hbm.write_back < 0) return HbmCopy::kStale;
  const bool done = timeline().DoneAt(hbm.write_back) >= 0;
  return done ? HbmCopy::kCurrent : HbmCopy::kPending;
}

Mapping Game::ToMapping() const {
  assert(finished());
  Mapping mapping;
  mapping.in_fast_memory = in_fast_memory_;
  for (const StayIndex s : state_.residency.stays().indices()) {
    const Stay& stay = state_.residency.stays()[s];
    Interval interval;
    interval.buffer = stay.buffer;
    interval.first = stay.first;
    interval.last = stay.last;
    interval.offset = stay.offset;
    interval.copy_in_start = stay.copy_in_start;
    interval.copy_in_done = stay.copy_in_done;
    interval.cross_program_prefetch = stay.cross_program_prefetch;
    if (stay.write_back >= 0) {
      const WriteBackIndex write_back = stay.write_back;
      interval.copy_out_start = timeline().StartOf(write_back);
      interval.copy_out_done = timeline().DoneAt(write_back);
      interval.last = std::max(stay.last, interval.copy_out_done - 1);
    }
    mapping.intervals.push_back(std::move(interval));
  }
  SortIntervals(mapping);
  return mapping;
}

size_t Game::CopyBytes() const {
  const auto bytes = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
  return sizeof(*this) + state_.residency.CopyBytes() + state_.timeline.CopyBytes() +
         state_.hbm.CopyBytes() + bytes(write_back_stays_) + bytes(in_fast_memory_) +
         bytes(history_);
}

size_t Game::MemoryBytes() const {
  const auto bytes = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
  return sizeof(*this) + state_.residency.HeapBytes() + state_.timeline.HeapBytes() +
         state_.hbm.HeapBytes() + bytes(write_back_stays_) + bytes(in_fast_memory_) +
         bytes(history_);
}

}  // namespace mallocmuzero
