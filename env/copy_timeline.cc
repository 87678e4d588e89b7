#include "env/copy_timeline.h"

#include <algorithm>
#include <cassert>

namespace mallocmuzero {

// A dry run (kCommit false) writes nothing but what it finds here.
struct CopyTimeline::Follow {
  bool late = false;  // a copy in was done after the point at which it is needed
};

CopyTimeline::CopyTimeline(const Program& program)
    : program_(&program),
      bytes_per_cycle_(program.hardware().hbm_bytes_per_cycle()),
      before_(1),
      stall_bytes_(1),
      wait_until_(1),
      spare_(program.instruction_count()) {
  // Of what is to come there is nothing, so that a copy of the game takes what was played only.
  const size_t points = program.instruction_count() + 1;
  before_.reserve(points);
  idle_bytes_.reserve(points - 1);
  stall_bytes_.reserve(points);
  wait_until_.reserve(points);
}

template <bool kCommit>
void CopyTimeline::MoveIn(double bytes, uint32_t point, State& state, Follow& follow) {
  if (bytes <= 0) return;
  state.in_pending -= bytes;
  const bool all = state.in_pending <= kSlackBytes;
  if (all) state.in_pending = 0;
  while (state.in_head < state.in_next && (all || bytes >= state.in_left - kSlackBytes)) {
    bytes -= state.in_left;
    follow.late |= point > copies_in_[state.in_head].done;
    ++state.in_head;
    state.in_left = state.in_head < state.in_next ? copies_in_[state.in_head].bytes : 0;
  }
  if (!all) state.in_left -= std::max(0.0, bytes);
}

template <bool kCommit>
void CopyTimeline::MoveOut(double bytes, uint32_t point, State& state) {
  if (bytes <= 0) return;
  state.out_pending -= bytes;
  const bool all = state.out_pending <= kSlackBytes;
  if (all) state.out_pending = 0;
  while (state.out_head < state.out_next && (all || bytes >= state.out_left - kSlackBytes)) {
    bytes -= state.out_left;
    if constexpr (kCommit) write_backs_[state.out_head].done = static_cast<int32_t>(point);
    ++state.out_head;
    state.out_left = state.out_head < state.out_next ? write_backs_[state.out_head].bytes : 0;
  }
  if (!all) state.out_left -= std::max(0.0, bytes);
}

// As CopyQueues::WaitFor: both queues at full bandwidth until the write-backs are done.
template <bool kCommit>
double CopyTimeline::Drain(uint32_t write_back_end, uint32_t point, State& state, Follow& follow) {
  if (state.out_head >= write_back_end) return 0;
  double needed = state.out_left;
  for (uint32_t w = state.out_head + 1; w < write_back_end; ++w) needed += write_backs_[w].bytes;
  const double others = std::min(needed, state.in_pending);
  MoveOut<kCommit>(needed, point, state);
  MoveIn<kCommit>(others, point, state, follow);
  return needed + others;
}

template <bool kCommit>
double CopyTimeline::PassPoint(uint32_t point, State& state, Follow& follow) {
  const uint32_t wait_until = wait_until_[point];
  double stall = Drain<kCommit>(std::min(wait_until, state.out_next), point, state, follow);
  for (; state.in_next < copies_in_.size() && copies_in_[state.in_next].start == point;
       ++state.in_next) {
    const double bytes = copies_in_[state.in_next].bytes;
    if (state.in_head == state.in_next) state.in_left = bytes;
    state.in_pending += bytes;
  }
  for (; state.out_next < write_backs_.size() && write_backs_[state.out_next].start == point;
       ++state.out_next) {
    const double bytes = write_backs_[state.out_next].bytes;
    if constexpr (kCommit) write_backs_[state.out_next].done = kPending;
    if (state.out_head == state.out_next) state.out_left = bytes;
    state.out_pending += bytes;
  }
  stall += Drain<kCommit>(wait_until, point, state, follow);
  return stall;
}

// As CopyQueues::Advance: half of the idle bandwidth each while both queues are busy.
template <bool kCommit>
double CopyTimeline::RunInstruction(uint32_t instruction, State& state, Follow& follow) {
  const double idle = idle_bytes_[instruction];
  if (state.Empty()) return 0;
  const double in = state.in_pending;
  const double out = state.out_pending;
  double moved_in = in;
  double moved_out = out;
  if (idle < in + out) {
    const double shared = std::min(in, out);
    if (idle <= 2 * shared) {
      moved_in = moved_out = idle / 2;
    } else if (in < out) {
      moved_out = idle - shared;
    } else {
      moved_in = idle - shared;
    }
  }
  MoveIn<kCommit>(moved_in, instruction + 1, state, follow);
  MoveOut<kCommit>(moved_out, instruction + 1, state);
  return moved_in;
}

void CopyTimeline::SetStall(uint32_t point, double bytes) {
  const double executions =
      point < program_->instruction_count() ? program_->instructions()[point].execution_count : 1;
  stall_cycles_ += (bytes - stall_bytes_[point]) / bytes_per_cycle_ * executions;
  stall_bytes_[point] = bytes;
}

void CopyTimeline::Advance(double idle_bytes) {
  Follow follow;
  idle_bytes_.push_back(idle_bytes);
  spare_.Set(point_, idle_bytes - RunInstruction<true>(point_, now_, follow));
  ++point_;
  before_.push_back(now_);
  stall_bytes_.push_back(0);
  wait_until_.push_back(0);
  SetStall(point_, PassPoint<true>(point_, now_, follow));
}

double CopyTimeline::Shortfall(const CopyIn& copy) {
  // Anything above 0 makes LatestStart look at an earlier point.
  constexpr double kLittle = 1e-3;
  const size_t index = PutIn(copy);
  Follow follow;
  State state = before_[copy.start];
  double shortfall = 0;
  for (uint32_t point = copy.start;; ++point) {
    // Every copy in is needed at the current point at the latest.
    if (point == point_ && state.in_pending > 0) {
      shortfall = state.in_pending;
      break;
    }
    const double stall = PassPoint<false>(point, state, follow);
    if (stall > stall_bytes_[point] + kSlackBytes) follow.late = true;
    if (point == point_ || follow.late) break;
    RunInstruction<false>(point, state, follow);
    if (follow.late || (state.Empty() && before_[point + 1].Empty())) break;
  }
  copies_in_.erase(copies_in_.begin() + static_cast<int64_t>(index));
  return follow.late ? std::max(shortfall, kLittle) : shortfall;
}

uint32_t CopyTimeline::Insert(const CopyIn& copy) {
  PutIn(copy);
  Follow follow;
  State state = before_[copy.start];
  const uint32_t first_touched = state.out_head;
  for (uint32_t w = state.out_head; w < state.out_next; ++w) write_backs_[w].done = kPending;
  for (uint32_t point = copy.start;; ++point) {
    SetStall(point, PassPoint<true>(point, state, follow));
    if (point == point_) {
      now_ = state;
      return first_touched;
    }
    spare_.Set(point, idle_bytes_[point] - RunInstruction<true>(point, state, follow));
    const bool as_before = state.Empty() && before_[point + 1].Empty();
    before_[point + 1] = state;
    if (!as_before) continue;
    // From here on only the numbers of the copies have changed.
    for (uint32_t later = point + 2; later <= point_; ++later) {
      ++before_[later].in_head;
      ++before_[later].in_next;
    }
    ++now_.in_head;
    ++now_.in_next;
    return first_touched;
  }
}

size_t CopyTimeline::PutIn(const CopyIn& copy) {
  const auto place = std::upper_bound(
      copies_in_.begin(), copies_in_.end(), copy, [](const CopyIn& a, const CopyIn& b) {
        return a.start != b.start ? a.start < b.start : a.done < b.done;
      });
  const size_t index = static_cast<size_t>(place - copies_in_.begin());
  copies_in_.insert(place, copy);
  return index;
}

uint32_t CopyTimeline::QueueWriteBack(int64_t bytes) {
  write_backs_.push_back({point_ + 1, kPending, static_cast<double>(bytes)});
  return write_back_count() - 1;
}

void CopyTimeline::WaitFor(uint32_t write_back, uint32_t point) {
  if (wait_until_[point] > write_back) return;
  wait_until_[point] = write_back + 1;
  fixed_ = std::max(fixed_, write_back + 1);
  if (point < point_) {
    assert(DoneAt(write_back) != kPending && DoneAt(write_back) <= static_cast<int32_t>(point));
    return;
  }
  Follow follow;
  now_ = before_[point_];
  SetStall(point_, PassPoint<true>(point_, now_, follow));
}

size_t CopyTimeline::HeapBytes() const {
  const auto bytes = [](const auto& vector) { return vector.capacity() * sizeof(vector[0]); };
  return bytes(before_) + bytes(idle_bytes_) + bytes(stall_bytes_) + bytes(wait_until_) +
         spare_.HeapBytes() + bytes(copies_in_) + bytes(write_backs_);
}

}  // namespace mallocmuzero
