// Brings the inserts of all streams to the table, in groups.

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
#include "absl/time/time.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/metrics.h"
#include "replay/service/replay_table.h"

namespace mallocmuzero {

// One InsertRequest on its way into the table.
struct InsertJob {
  TableInsert insert;
  uint64_t positions = 0;
  size_t bytes = 0;

  // Whose it is. Jobs of one stream stay in their order.
  const void* stream = nullptr;

  // Called once, from any thread, without locks of the queue; not called for a job that is dropped.
  std::function<void(const absl::Status&, v1::InsertResponse)> done;

  // Whether the client still waits for the answer. Must not call the queue.
  std::function<bool()> wanted = [] { return true; };
};

// A group that cannot be stored stays in the queue and is tried again: clients see a stream that
// waits, and do not send again what the shard has.
//
// A shard that keeps its items on disk has a thread for this, so that what comes in while one group
// is written becomes the next group; otherwise the streams' own threads do it. Thread-safe.
class InsertQueue {
 public:
  // Neither is owned. `inserted` is called after each group.
  InsertQueue(ReplayTable& table, ReplayMetrics& metrics, std::function<void()> inserted);

  // All jobs are done.
  ~InsertQueue();

  void Add(std::unique_ptr<InsertJob> job);

  // Calls `read` when there is room for another request of new items, or of replacements: now or
  // later. Never after Stop. The two have room of their own: the rate limiter holds back new items
  // only.
  void WhenRoom(bool replacements, std::function<void()> read);

  // The rate limiter may let through what waits.
  void Wake();

  // Requests that wait: for the limiter or for the group before them.
  size_t waiting() const;

  // Fails what waits, now and from now on, with UNAVAILABLE, lets a group that is being stored
  // finish, and stores what the table has not.
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

  // Of new items and of replacements: who waits for room, and bytes of jobs that wait or are being
  // stored.
  std::deque<std::function<void()>> readers_[2] ABSL_GUARDED_BY(mutex_);
  size_t bytes_[2] ABSL_GUARDED_BY(mutex_) = {0, 0};
  absl::Time retry_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // after a failed group
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_INSERT_QUEUE_H_
