// When copies move while a game is played: Simulate's queues, with copies put in afterwards.

#ifndef MALLOCMUZERO_ENV_COPY_TIMELINE_H_
#define MALLOCMUZERO_ENV_COPY_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "env/spare_tree.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// The copies of the decided part of a program. Points in time are those of Simulate: at point i,
// just before instruction i, write-backs queued earlier are waited for, then copies are queued,
// then those are waited for that are needed at once; then instruction i runs and leaves bandwidth.
//
// A copy in is put in late: when instruction i wants it, into the decided past, where there is
// bandwidth left. So the state before every point is kept, and a copy queued at point s is followed
// from s on until the queues are empty as they were.
//
// A value, like the game. Bytes are doubles, as in CopyQueues.
class CopyTimeline {
 public:
  static constexpr int32_t kPending = -1;

  // At point 0, with nothing queued. `program` must outlive the timeline.
  explicit CopyTimeline(const Program& program);

  // The current point: its waits and queueing have happened, its instruction has not run.
  uint32_t point() const { return point_; }

  // Runs the current instruction, which leaves `idle_bytes` to copies, and goes to the next point.
  void Advance(double idle_bytes);

  // Cycles waited for write-backs so far, times execution counts.
  double stall_cycles() const { return stall_cycles_; }

  struct CopyIn {
    uint32_t start = 0;  // queued at this point
    uint32_t done = 0;   // needed at this point
    double bytes = 0;

    friend bool operator==(const CopyIn&, const CopyIn&) = default;
  };

  // The latest point s in [earliest, done) at which a copy in that is needed at `done` <= point()
  // can be queued so that it and all other copies in are there when needed and nothing waits longer
  // than before; of a copy that is needed before point(), only bytes that no other copy uses until
  // then are taken. `latest_allowed` maps a point to the latest one not after it at which copies of
  // this one's loop may be queued, negative if there is none. nullopt if there is no such s; after
  // kMaxAttempts points that do not do, no other is tried.
  template <typename LatestAllowed>
  std::optional<uint32_t> LatestStart(double bytes, int32_t earliest, uint32_t done,
                                      const LatestAllowed& latest_allowed) const {
    double needed = bytes;
    int32_t start = static_cast<int32_t>(done);
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      start = spare_.FindFromRight(static_cast<uint32_t>(start), needed);
      if (start >= 0) start = latest_allowed(start);
      if (start < earliest || start < 0) return std::nullopt;
      needed = Shortfall({static_cast<uint32_t>(start), done, bytes});
      if (needed <= 0) return static_cast<uint32_t>(start);
    }
    return std::nullopt;
  }

  // Puts in a copy for which LatestStart found the start. Write-backs may finish later than before;
  // returns the first one for which that may be so.
  uint32_t Insert(const CopyIn& copy);

  // Queues a write-back at the point after the current one. Returns its number; they count up.
  uint32_t QueueWriteBack(int64_t bytes);

  // Waits for a write-back at a point: at the current one, or at an earlier one at which it was
  // done; then it stays done there whatever is put in later.
  void WaitFor(uint32_t write_back, uint32_t point);

  uint32_t write_back_count() const { return static_cast<uint32_t>(write_backs_.size()); }

  // The point at which a write-back is queued.
  uint32_t StartOf(uint32_t write_back) const { return write_backs_[write_back].start; }

  // The point at which a write-back was done, kPending if it is not.
  int32_t DoneAt(uint32_t write_back) const { return write_backs_[write_back].done; }

  // The first write-back that is not done; all after it are not either.
  uint32_t first_pending() const { return now_.out_head; }

  // Bandwidth the instruction, which must have run, left to copies, and what copies in took of it.
  double IdleBytes(uint32_t instruction) const { return idle_bytes_[instruction]; }
  double SpareBytes(uint32_t instruction) const { return spare_.Get(instruction); }

  // Bytes queued and not moved at the current point.
  double PendingOut() const { return now_.out_pending; }

  size_t HeapBytes() const;

  friend bool operator==(const CopyTimeline&, const CopyTimeline&) = default;

 private:
  static constexpr int kMaxAttempts = 64;

  // Below this a copy counts as done: what adding and subtracting sizes of up to 2^30 bytes can get
  // wrong, and far less than a cycle.
  static constexpr double kSlackBytes = 1e-6;

  struct WriteBack {
    uint32_t start = 0;
    int32_t done = kPending;
    double bytes = 0;

    friend bool operator==(const WriteBack&, const WriteBack&) = default;
  };

  // Both queues. Copies [head, next) are queued and not done, the head has `left` bytes to go.
  struct State {
    double in_left = 0;
    double in_pending = 0;
    double out_left = 0;
    double out_pending = 0;
    uint32_t in_head = 0;
    uint32_t in_next = 0;
    uint32_t out_head = 0;
    uint32_t out_next = 0;

    bool Empty() const { return in_pending == 0 && out_pending == 0; }

    friend bool operator==(const State&, const State&) = default;
  };

  template <bool kCommit>
  class Run;  // moves a state through points and instructions

  void SetStall(uint32_t point, double bytes);

  // The index in copies_in_ of a copy that is put in after its equals.
  size_t IndexFor(const CopyIn& copy) const;

  // Bytes by which the copy misses what LatestStart asks for; at least so much more spare bandwidth
  // must lie behind an earlier start that does. 0 or less if it misses nothing.
  double Shortfall(const CopyIn& copy) const;

  const Program* program_;
  double bytes_per_cycle_;
  uint32_t point_ = 0;
  double stall_cycles_ = 0;
  State now_;                         // at point_, after waits and queueing
  std::vector<State> before_;         // by point, up to point_
  std::vector<double> idle_bytes_;    // by instruction, below point_
  std::vector<double> stall_bytes_;   // by point, up to point_, one execution
  std::vector<uint32_t> wait_until_;  // by point: write-backs below this are waited for there
  SpareTree spare_;                   // by instruction: idle bytes that copies in did not take
  std::vector<CopyIn> copies_in_;     // ascending by (start, done)
  std::vector<WriteBack> write_backs_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_COPY_TIMELINE_H_
