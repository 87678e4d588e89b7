// A bounded queue with the threads that work on it.

#ifndef MALLOCMUZERO_SERVE_WORK_QUEUE_H_
#define MALLOCMUZERO_SERVE_WORK_QUEUE_H_

#include <cstdint>
#include <deque>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace mallocmuzero {

// Something that a thread of the queue does.
class Work {
 public:
  virtual ~Work() = default;

  // Called once, on a thread of the queue. The work may destroy itself at its end. `leave` lets the
  // queue take other work in place of this one, as the end of Run does.
  virtual void Run(absl::FunctionRef<void()> leave) = 0;
};

// First come, first served. Thread-safe.
class WorkQueue {
 public:
  // `threads` pieces of work run at the same time, and up to `waiting` more wait.
  WorkQueue(uint32_t threads, uint32_t waiting);

  // Calls Close and Join. Work that waits must have been taken by Close.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Adds work, which must live until it has run or was removed. ResourceExhausted if the queue is
  // full, Unavailable after Close.
  absl::Status Push(Work* work) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes work out of the queue. False if a thread has begun it already.
  bool Remove(Work* work) ABSL_LOCKS_EXCLUDED(mutex_);

  // Refuses work from now on and returns the work that no thread has begun. Running work goes on.
  std::vector<Work*> Close() ABSL_LOCKS_EXCLUDED(mutex_);

  // After Close: blocks until the running work has ended. Only one thread may call this.
  void Join();

  uint32_t running() const ABSL_LOCKS_EXCLUDED(mutex_);
  uint32_t waiting() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void RunWork() ABSL_LOCKS_EXCLUDED(mutex_);

  const uint32_t most_;  // running and waiting together
  mutable absl::Mutex mutex_;
  std::deque<Work*> queue_ ABSL_GUARDED_BY(mutex_);
  uint32_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SERVE_WORK_QUEUE_H_
