#include "env/copy_timeline.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <type_traits>

namespace mallocmuzero {

// Moves a state of both queues. A committing run writes down when write-backs are done. A dry run
// writes nothing and may have one more copy in than the timeline.
template <bool kCommit>
class CopyTimeline::Run {
 public:
  using Timeline = std::conditional_t<kCommit, CopyTimeline, const CopyTimeline>;

  // Both arguments must outlive the run.
  Run(Timeline& timeline, State& state) : timeline_(timeline), state_(state) {}

  // A dry run with `extra` as if it were at `index` of the copies in. `extra` must outlive the run.
  Run(const CopyTimeline& timeline, State& state, const CopyIn& extra,
      size_t index) requires(!kCommit)
      : timeline_(timeline), state_(state), extra_(&extra), extra_index_(index) {}

  // True if a copy in was done after the point at which it is needed.
  bool is_late() const { return late_; }

  // Moves the state through a point. Returns the bytes that are waited for.
  double PassPoint(InstructionIndex point);

  // Moves the state through an instruction. Returns the bytes that are moved in.
  double RunInstruction(InstructionIndex instruction);

 private:
  size_t CopyCount() const { return timeline_.copies_in_.size() + (extra_ != nullptr ? 1 : 0); }
  const CopyIn& CopyAt(size_t index) const {
    if constexpr (!kCommit) {
      if (index == extra_index_) return *extra_;
      if (index > extra_index_) --index;
    }
    return timeline_.copies_in_[CopyInIndex(index)];
  }

  void MoveIn(double bytes, InstructionIndex point);
  void MoveOut(double bytes, InstructionIndex point);
  double Drain(WriteBackIndex write_back_end, InstructionIndex point);

  Timeline& timeline_;
  State& state_;
  const CopyIn* extra_ = nullptr;
  size_t extra_index_ = std::numeric_limits<size_t>::max();
  bool late_ = false;
};

// The vectors grow with the points that are reached, so that a copy of the timeline costs only what
// has been played.
CopyTimeline::CopyTimeline(const Program& program)
    : program_(&program),
      bytes_per_cycle_(program.hardware().hbm_bytes_per_cycle()),
      points_(1, Point()),
      spare_(program.instruction_count()) {}

template <bool kCommit>
void CopyTimeline::Run<kCommit>::MoveIn(double bytes, InstructionIndex point) {
  if (bytes <= 0) return;
  state_.in_pending -= bytes;
  const bool all = state_.in_pending <= kSlackBytes;
  if (all) state_.in_pending = 0;
  while (state_.in_head < state_.in_next && (all || bytes >= state_.in_left - kSlackBytes)) {
    bytes -= state_.in_left;
    late_ |= point > CopyAt(state_.in_head).done;
    ++state_.in_head;
    state_.in_left = state_.in_head < state_.in_next ? CopyAt(state_.in_head).bytes : 0;
  }
  if (!all) state_.in_left -= std::max(0.0, bytes);
}

template <bool kCommit>
void CopyTimeline::Run<kCommit>::MoveOut(double bytes, InstructionIndex point) {
  if (bytes <= 0) return;
  state_.out_pending -= bytes;
  const bool all = state_.out_pending <= kSlackBytes;
  if (all) state_.out_pending = 0;
  const auto& write_backs = timeline_.write_backs_;
  while (state_.out_head < state_.out_next && (all || bytes >= state_.out_left - kSlackBytes)) {
    bytes -= state_.out_left;
    if constexpr (kCommit) timeline_.write_backs_.Mutable(state_.out_head).done = point;
    ++state_.out_head;
    state_.out_left = state_.out_head < state_.out_next ? write_backs[state_.out_head].bytes : 0;
  }
  if (!all) state_.out_left -= std::max(0.0, bytes);
}

// Like CopyQueues::WaitFor: both queues move at the full rate until the write-backs are done.
template <bool kCommit>
double CopyTimeline::Run<kCommit>::Drain(WriteBackIndex write_back_end, InstructionIndex point) {
  if (state_.out_head >= write_back_end) return 0;
  double needed = state_.out_left;
  for (WriteBackIndex w = state_.out_head + 1; w < write_back_end; ++w) {
    needed += timeline_.write_backs_[w].bytes;
  }
  const double others = std::min(needed, state_.in_pending);
  MoveOut(needed, point);
  MoveIn(others, point);
  return needed + others;
}

template <bool kCommit>
double CopyTimeline::Run<kCommit>::PassPoint(InstructionIndex point) {
  const auto& write_backs = timeline_.write_backs_;
  const WriteBackIndex wait_until = timeline_.points_[point].wait_until;
  double stall = Drain(std::min(wait_until, state_.out_next), point);
  for (; state_.in_next < CopyCount() && CopyAt(state_.in_next).start == point; ++state_.in_next) {
    const double bytes = CopyAt(state_.in_next).bytes;
    if (state_.in_head == state_.in_next) state_.in_left = bytes;
    state_.in_pending += bytes;
  }
  for (; state_.out_next < write_backs.end_index() && write_backs[state_.out_next].start == point;
       ++state_.out_next) {
    const double bytes = write_backs[state_.out_next].bytes;
    if constexpr (kCommit) timeline_.write_backs_.Mutable(state_.out_next).done = kPending;
    if (state_.out_head == state_.out_next) state_.out_left = bytes;
    state_.out_pending += bytes;
  }
  stall += Drain(wait_until, point);
  return stall;
}

// Like CopyQueues::Advance: each queue gets half of the idle bandwidth while both are busy.
template <bool kCommit>
double CopyTimeline::Run<kCommit>::RunInstruction(InstructionIndex instruction) {
  const double idle = timeline_.points_[instruction].idle_bytes;
  if (state_.Empty()) return 0;
  const double in = state_.in_pending;
  const double out = state_.out_pending;
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
  MoveIn(moved_in, instruction + 1);
  MoveOut(moved_out, instruction + 1);
  return moved_in;
}

void CopyTimeline::SetStall(InstructionIndex point, double bytes) {
  const double executions = program_->instructions().contains(point)
                                ? program_->instructions()[point].execution_count
                                : 1;
  stall_cycles_ += (bytes - points_[point].stall_bytes) / bytes_per_cycle_ * executions;
  if (bytes != points_[point].stall_bytes) points_.Mutable(point).stall_bytes = bytes;
}

void CopyTimeline::Advance(double idle_bytes) {
  Run<true> run(*this, now_);
  points_.Mutable(point_).idle_bytes = idle_bytes;
  spare_.Set(point_, idle_bytes - run.RunInstruction(point_));
  ++point_;
  points_.push_back({.before = now_});
  SetStall(point_, run.PassPoint(point_));
}

double CopyTimeline::Shortfall(const CopyIn& copy) const {
  // Anything above 0 makes LatestStart look at an earlier point.
  constexpr double kLittle = 1e-3;
  State state = points_[copy.start].before;
  Run<false> run(*this, state, copy, IndexFor(copy));
  bool waits_longer = false;
  double shortfall = 0;
  for (InstructionIndex point = copy.start;; ++point) {
    // Every copy in is needed at the current point at the latest.
    if (point == point_ && state.in_pending > 0) {
      shortfall = state.in_pending;
      break;
    }
    waits_longer = run.PassPoint(point) > points_[point].stall_bytes + kSlackBytes;
    if (point == point_ || waits_longer || run.is_late()) break;
    run.RunInstruction(point);
    if (run.is_late() || (state.Empty() && points_[point + 1].before.Empty())) break;
  }
  return waits_longer || run.is_late() ? std::max(shortfall, kLittle) : shortfall;
}

WriteBackIndex CopyTimeline::Insert(const CopyIn& copy) {
  copies_in_.insert(CopyInIndex(IndexFor(copy)), copy);
  State state = points_[copy.start].before;
  Run<true> run(*this, state);
  const WriteBackIndex first_touched = state.out_head;
  for (WriteBackIndex w = state.out_head; w < state.out_next; ++w) {
    write_backs_.Mutable(w).done = kPending;
  }
  for (InstructionIndex point = copy.start;; ++point) {
    SetStall(point, run.PassPoint(point));
    if (point == point_) {
      now_ = state;
      return first_touched;
    }
    spare_.Set(point, points_[point].idle_bytes - run.RunInstruction(point));
    State& before_next = points_.Mutable(point + 1).before;
    const bool as_before = state.Empty() && before_next.Empty();
    before_next = state;
    if (!as_before) continue;
    // From here on only the numbers of the copies have changed.
    for (InstructionIndex later = point + 2; later <= point_; ++later) {
      State& before = points_.Mutable(later).before;
      ++before.in_head;
      ++before.in_next;
    }
    ++now_.in_head;
    ++now_.in_next;
    return first_touched;
  }
}

size_t CopyTimeline::IndexFor(const CopyIn& copy) const {
  const auto is_after = [&copy](const CopyIn& other) {
    return copy.start != other.start ? copy.start < other.start : copy.done < other.done;
  };
  size_t first = 0;  // binary search
  size_t end = copies_in_.size();
  while (first < end) {
    const size_t middle = (first + end) / 2;
    if (is_after(copies_in_[CopyInIndex(middle)])) {
      end = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

WriteBackIndex CopyTimeline::QueueWriteBack(int64_t bytes) {
  write_backs_.push_back({point_ + 1, kPending, static_cast<double>(bytes)});
  return write_back_count() - 1;
}

void CopyTimeline::WaitFor(WriteBackIndex write_back, InstructionIndex point) {
  if (points_[point].wait_until > write_back) return;
  points_.Mutable(point).wait_until = write_back + 1;
  if (point < point_) {
    assert(DoneAt(write_back) != kPending && DoneAt(write_back) <= point);
    return;
  }
  now_ = points_[point_].before;
  SetStall(point_, Run<true>(*this, now_).PassPoint(point_));
}

size_t CopyTimeline::HeapBytes() const {
  return points_.HeapBytes() + spare_.HeapBytes() + copies_in_.HeapBytes() +
         write_backs_.HeapBytes();
}

size_t CopyTimeline::CopyBytes() const {
  return points_.CopyBytes() + spare_.CopyBytes() + copies_in_.CopyBytes() +
         write_backs_.CopyBytes();
}

}  // namespace mallocmuzero
