#include "env/game.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "simulator/core/simulate.h"

namespace mallocmuzero {

Game::Game(const ProgramRules& rules)
    : rules_(&rules),
      latency_cycles_(rules.all_hbm_cycles()),
      memory_(rules.program().hardware().fast_memory_bytes() /
              rules.program().hardware().fast_memory_alignment_bytes() *
              rules.program().hardware().fast_memory_alignment_bytes()),
      timeline_(rules.program()),
      buffers_(rules.program().buffer_count()),
      groups_(rules.program().carried_groups().size(), GroupSpace::kOpen),
      in_fast_memory_(rules.access_count(), 0) {
  for (uint32_t b = 0; b < buffers_.size(); ++b) {
    buffers_[b].hbm_current = rules.buffer(b).starts_in_hbm;
    buffers_[b].hbm_since = rules.buffer(b).available;
  }
  PlaceCrossProgramPrefetch();
  if (program().instruction_count() > 0) AdvanceToDecision();
  initial_return_ = total_return();
}

void Game::PlaceCrossProgramPrefetch() {
  const int32_t buffer = rules_->prefetch().buffer;
  if (buffer == ProgramRules::kNone) return;
  Stay stay;
  stay.buffer = static_cast<uint32_t>(buffer);
  stay.last = rules_->prefetch().last;
  stay.cross_program_prefetch = true;
  stay.reserved = stay.last;
  NewStay(stay);
}

double Game::Apply(Action action) {
  assert(IsLegal(action));
  const double before = cycles();
  history_.push_back(action);
  Take(action);
  AdvanceToDecision();
  return rules_->ShareOfAllHbm(before - cycles());
}

void Game::AdvanceToDecision() {
  legal_ = 0;
  if (instruction_ < 0) {
    instruction_ = 0;
    EnterInstruction();
  }
  while (true) {
    const Instruction& instruction = program().instructions()[instruction_];
    while (access_ < instruction.first_access + instruction.access_count) {
      plan_ = Plan();
      legal_ = FindLegalActions();
      if (CountOf(legal_) > 1) return;
      Take(static_cast<Action>(__builtin_ctz(legal_)));
    }
    legal_ = 0;
    LeaveInstruction();
    if (instruction_ == static_cast<int32_t>(program().instruction_count())) break;
    EnterInstruction();
  }
  Finish();
}

void Game::EnterInstruction() {
  fast_mask_ = 0;
  const Instruction& instruction = program().instructions()[instruction_];
  const int32_t loop = rules_->LoopOfMarker(static_cast<uint32_t>(instruction_));
  if (instruction.kind == InstructionKind::kLoopBegin) EnterLoop(static_cast<uint32_t>(loop));
  if (instruction.kind == InstructionKind::kLoopEnd) LeaveLoop(static_cast<uint32_t>(loop));
  MakeRoomForInstruction();
}

// What an instruction takes for itself may leave no room to a write-back: that has to be done.
void Game::MakeRoomForInstruction() {
  const auto now = static_cast<uint32_t>(instruction_);
  const int64_t capacity = rules_->Capacity(now, now);
  if (capacity >= memory_.bytes()) return;
  for (uint32_t w = timeline_.write_back_count(); w-- > timeline_.first_unfixed();) {
    if (timeline_.StartOf(w) > now) continue;
    const Stay& stay = stays_[write_back_stays_[w]];
    if (stay.offset + rules_->buffer(stay.buffer).bytes <= capacity) continue;
    WaitForWriteBack(w);
    return;
  }
}

void Game::LeaveInstruction() {
  const auto i = static_cast<uint32_t>(instruction_);
  const double cycles = program().latency().Cycles(i, fast_mask_);
  const uint32_t first_pending = timeline_.first_pending();
  timeline_.Advance(IdleBytes(program(), i, fast_mask_, cycles));
  ++instruction_;
  if (timeline_.first_pending() != first_pending) SettleWriteBacks(first_pending);
}

void Game::Finish() {
  if (timeline_.first_pending() < timeline_.write_back_count()) {
    WaitForWriteBack(timeline_.write_back_count() - 1);
  }
}

void Game::SetFast(uint32_t access) {
  const auto i = static_cast<uint32_t>(instruction_);
  const Instruction& instruction = program().instructions()[i];
  const uint64_t with = fast_mask_ | uint64_t{1} << (access - instruction.first_access);
  latency_cycles_ +=
      (program().latency().Cycles(i, with) - program().latency().Cycles(i, fast_mask_)) *
      instruction.execution_count;
  fast_mask_ = with;
  in_fast_memory_[access] = 1;
}

Game::HbmCopy Game::hbm_copy(uint32_t buffer) const {
  const BufferState& state = buffers_[buffer];
  if (state.hbm_current) return HbmCopy::kCurrent;
  if (state.write_back < 0) return HbmCopy::kStale;
  const bool done = timeline_.DoneAt(static_cast<uint32_t>(state.write_back)) >= 0;
  return done ? HbmCopy::kCurrent : HbmCopy::kPending;
}

Mapping Game::ToMapping() const {
  assert(finished());
  Mapping mapping;
  mapping.in_fast_memory = in_fast_memory_;
  for (const Stay& stay : stays_) {
    Interval interval;
    interval.buffer = stay.buffer;
    interval.first = static_cast<uint32_t>(stay.first);
    interval.last = static_cast<uint32_t>(stay.last);
    interval.offset = stay.offset;
    interval.copy_in_start = stay.copy_in_start;
    interval.copy_in_done = stay.copy_in_done;
    interval.cross_program_prefetch = stay.cross_program_prefetch;
    if (stay.write_back >= 0) {
      const auto write_back = static_cast<uint32_t>(stay.write_back);
      interval.copy_out_start = static_cast<int32_t>(timeline_.StartOf(write_back));
      interval.copy_out_done = timeline_.DoneAt(write_back);
      interval.last = static_cast<uint32_t>(std::max(stay.last, interval.copy_out_done - 1));
    }
    mapping.intervals.push_back(std::move(interval));
  }
  SortIntervals(mapping);
  return mapping;
}

size_t Game::MemoryBytes() const {
  const auto bytes = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
  return sizeof(*this) + memory_.HeapBytes() + timeline_.HeapBytes() + bytes(stays_) +
         bytes(write_back_stays_) + bytes(stays_before_loop_) + bytes(scratch_) + bytes(buffers_) +
         bytes(groups_) + bytes(in_fast_memory_) + bytes(history_);
}

}  // namespace mallocmuzero
