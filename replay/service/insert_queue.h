// Passes the inserts of all streams to the table in groups.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_INSERT_QUEUE_H_
#define MALLOCMUZERO_REPLAY_SERVICE_INSERT_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/metrics.h"
#include "replay/service/replay_table.h"

namespace mallocmuzero {

// One InsertRequest on its way into the table.
struct InsertJob {
  TableInsert insert;
  uint64_t positions = 0;  // of its items, those that the rate limiter counts
  size_t bytes = 0;        // of its items

  // Identifies the stream that the job came from. Jobs of one stream keep their order.
  const void* stream = nullptr;

  // Called once with the result, from any thread and without locks of the queue. Not called for a
  // job that is dropped.
  std::function<void(const absl::Status&, v1::InsertResponse)> done;

  // Whether the client still waits for the answer. Must not call the queue.
  std::function<bool()> wanted = [] { return true; };
};

// A group that cannot be stored stays in the queue and is tried again: clients see a stream that
// waits, and do not send their items again.
//
// For a table on disk a thread stores the groups, and jobs that arrive while it writes one group
// become the next. For a table in memory the threads that call Add and Wake do the work.
// Thread-safe.
class InsertQueue {
 public:
  // `table` and `metrics` are not owned and must outlive the queue. `inserted` is called after each
  // group, from any thread.
  InsertQueue(ReplayTable& table, ReplayMetrics& metrics, std::function<void()> inserted);

  // Calls Stop.
  ~InsertQueue();

  // Queues a job, or fails it with UNAVAILABLE after Stop. With a table in memory this call may
  // store groups, the job among them, before it returns.
  void Add(std::unique_ptr<InsertJob> job);

  // Calls `read` once there is room for another request of new items, or of replacements, at once
  // or later, from any thread. Does not call it after Stop. The two kinds have room of their own,
  // because the rate limiter holds back new items only.
  void WhenRoom(bool replacements, std::function<void()> read);

  // Tries again to store waiting jobs. Call it when the rate limiter may admit them.
  void Wake();

  // The number of requests that wait for the rate limiter or for the group before them.
  size_t waiting() const;

  // Fails waiting and later jobs with UNAVAILABLE, waits for a group that is being stored, and
  // flushes the table. Each call returns only then, also if another thread called first. Must not
  // be called by a job's `done`.
  void Stop();

 private:
  using Jobs = std::vector<std::unique_ptr<InsertJob>>;

  void RunHere();
  void RunThread();
  Jobs TakeGroup() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Store(Jobs jobs);
  bool PutBack(Jobs& jobs);
  void DropUnwanted() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::function<void()>> TakeReaders() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ReplayTable& table_;
  ReplayMetrics& metrics_;
  const std::function<void()> inserted_;

  mutable absl::Mutex mutex_;
  absl::CondVar changed_;
  std::deque<std::unique_ptr<InsertJob>> jobs_ ABSL_GUARDED_BY(mutex_);

  // Index 0 is for items that the limiter may hold back, 1 for the others: the streams that
  // wait for room, and the bytes of jobs that wait and of the group being stored.
  std::deque<std::function<void()>> readers_[2] ABSL_GUARDED_BY(mutex_);
  size_t bytes_[2] ABSL_GUARDED_BY(mutex_) = {0, 0};
  absl::Time retry_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // after a failed group
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Notification stopped_;  // the first call of Stop has done its work
  std::thread thread_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_INSERT_QUEUE_H_
