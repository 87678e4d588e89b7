// When copies move while a game is played: the queues of Simulate, with copies that are added
// later.

#ifndef MALLOCMUZERO_ENV_COPY_TIMELINE_H_
#define MALLOCMUZERO_ENV_COPY_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/index.h"
#include "base/shared_vector.h"
#include "env/spare_tree.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

using WriteBackIndex = Index<struct WriteBackTag>;  // into the write-backs of a CopyTimeline

// The copies of the decided part of a program. Points in time are those of Simulate. Point i is
// just before instruction i. At a point the program waits for write-backs that were queued earlier,
// then queues copies, then waits for copies that are needed at once. After that instruction i runs
// and leaves bandwidth to copies.
//
// A copy in is added when a later access wants it: it is queued at a past point from which enough
// bandwidth is left. The timeline keeps the state of the queues before every point. After an
// addition at point s it recomputes the states from s on, until the queues are empty both with and
// without the new copy.
//
// Copying takes a snapshot. Bytes are doubles, as in CopyQueues.
class CopyTimeline {
 public:
  static constexpr int32_t kPending = -1;

  // At point 0, with nothing queued. `program` must outlive the timeline.
  explicit CopyTimeline(const Program& program);

  // The current point. Its waits and its queueing have happened; its instruction has not run.
  InstructionIndex point() const { return point_; }

  // Runs the current instruction, which leaves `idle_bytes` to copies, and moves to the next point.
  void Advance(double idle_bytes);

  // Cycles that the program waits for write-backs so far, over all executions.
  double stall_cycles() const { return stall_cycles_; }

  // Cycles that one execution of the current point waits for write-backs.
  double StallNow() const { return points_[point_].stall_bytes / bytes_per_cycle_; }

  struct CopyIn {
    InstructionIndex start = 0;  // queued at this point
    InstructionIndex done = 0;   // needed at this point
    double bytes = 0;

    friend bool operator==(const CopyIn&, const CopyIn&) = default;
  };

  // The latest point in [earliest, done) at which a copy in can be queued that is needed at `done`,
  // which is at most point(). The new copy and all other copies in must be done when they are
  // needed, and no wait may become longer. nullopt if there is no such point, or if kMaxAttempts
  // points fail.
  //
  // `latest_allowed` maps a point to the latest point up to it at which the copy's loop may queue
  // copies; negative if there is none. A copy that is needed before point() uses only bandwidth
  // that no other copy uses before `done`.
  template <typename LatestAllowed>
  std::optional<InstructionIndex> LatestStart(double bytes, InstructionIndex earliest,
                                              InstructionIndex done,
                                              const LatestAllowed& latest_allowed) const {
    double needed = bytes;
    InstructionIndex start = done;
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      start = spare_.FindFromRight(start, needed);
      if (start >= 0) start = latest_allowed(start);
      if (start < earliest || start < 0) return std::nullopt;
      needed = Shortfall({start, done, bytes});
      if (needed <= 0) return start;
    }
    return std::nullopt;
  }

  // Adds a copy whose start LatestStart has found. Some write-backs may be done later than before.
  // Returns the first one of them; all others are after it.
  WriteBackIndex Insert(const CopyIn& copy);

  // Queues a write-back at the point after the current one. Returns its number; they count up.
  WriteBackIndex QueueWriteBack(int64_t bytes);

  // Waits for a write-back at a point: the current point, or an earlier one at which it was done.
  // Copies that are added later cannot delay the write-back beyond this point.
  void WaitFor(WriteBackIndex write_back, InstructionIndex point);

  WriteBackIndex write_back_count() const { return WriteBackIndex(write_backs_.size()); }

  // The point at which a write-back is queued.
  InstructionIndex StartOf(WriteBackIndex write_back) const {
    return write_backs_[write_back].start;
  }

  // The point at which a write-back was done, kPending if it is not done.
  InstructionIndex DoneAt(WriteBackIndex write_back) const { return write_backs_[write_back].done; }

  // The first write-back that is not done. All after it are not done, either.
  WriteBackIndex first_pending() const { return now_.out_head; }

  // Bytes that an instruction left to copies, and the part that copies in did not use. The
  // instruction must have run.
  double IdleBytes(InstructionIndex instruction) const { return points_[instruction].idle_bytes; }
  double SpareBytes(InstructionIndex instruction) const { return spare_.Get(instruction); }

  // Bytes of write-backs that are queued and not moved at the current point.
  double PendingOut() const { return now_.out_pending; }

  // Bytes on the heap, and the part of them that copies do not share.
  size_t HeapBytes() const;
  size_t CopyBytes() const;

  friend bool operator==(const CopyTimeline&, const CopyTimeline&) = default;

 private:
  static constexpr int kMaxAttempts = 64;

  // A copy with fewer bytes left than this counts as done. It is more than the rounding errors of
  // sums of sizes up to 2^30 bytes, and far less than the bytes that move in a cycle.
  static constexpr double kSlackBytes = 1e-6;

  struct WriteBack {
    InstructionIndex start = 0;
    InstructionIndex done = kPending;
    double bytes = 0;

    friend bool operator==(const WriteBack&, const WriteBack&) = default;
  };

  // State of both queues. The copies [head, next) are queued and not done. `left` bytes of the head
  // are not moved.
  struct State {
    double in_left = 0;
    double in_pending = 0;
    double out_left = 0;
    double out_pending = 0;
    uint32_t in_head = 0;
    uint32_t in_next = 0;
    WriteBackIndex out_head = 0;
    WriteBackIndex out_next = 0;

    bool Empty() const { return in_pending == 0 && out_pending == 0; }

    friend bool operator==(const State&, const State&) = default;
  };

  struct Point {
    State before;
    double stall_bytes = 0;         // of one execution
    WriteBackIndex wait_until = 0;  // write-backs below this are waited for here
    double idle_bytes = 0;          // that the instruction leaves, once it has run

    friend bool operator==(const Point&, const Point&) = default;
  };

  // Into copies_in_. The program has fewer than 2^31 of them.
  using CopyInIndex = Index<struct CopyInTag>;

  template <bool kCommit>
  class Run;  // moves a state through points and instructions

  void SetStall(InstructionIndex point, double bytes);

  // The index at which a new copy goes into copies_in_: after all copies that are equal in order.
  size_t IndexFor(const CopyIn& copy) const;

  // 0 or less if the copy meets the conditions of LatestStart. Otherwise an earlier start must have
  // at least this many more bytes of bandwidth than this one.
  double Shortfall(const CopyIn& copy) const;

  const Program* program_;
  double bytes_per_cycle_;
  InstructionIndex point_ = 0;
  double stall_cycles_ = 0;
  State now_;                                     // at point_, after waits and queueing
  SharedVector<InstructionIndex, Point> points_;  // up to point_
  SpareTree spare_;  // by instruction: idle bytes that copies in did not take
  SharedVector<CopyInIndex, CopyIn> copies_in_;  // ascending by (start, done)
  SharedVector<WriteBackIndex, WriteBack> write_backs_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_COPY_TIMELINE_H_
