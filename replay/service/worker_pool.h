// Threads for work that may wait for the disk, since gRPC's own threads must not block.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_WORKER_POOL_H_
#define MALLOCMUZERO_REPLAY_SERVICE_WORKER_POOL_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace mallocmuzero {

// Starts tasks in the order in which they came and runs several at a time. Does not bound their
// number; the callers must. Thread-safe.
class WorkerPool {
 public:
  explicit WorkerPool(size_t threads) {
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }

  // Blocks until all tasks have run.
  ~WorkerPool() {
    {
      const absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    for (std::thread& thread : threads_) thread.join();
  }

  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Queues a task without blocking.
  void Run(std::function<void()> task) {
    const absl::MutexLock lock(&mutex_);
    tasks_.push_back(std::move(task));
  }

 private:
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stopping_ || !tasks_.empty(); }

  void Work() {
    while (true) {
      std::function<void()> task;
      {
        const absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(this, &WorkerPool::HasWork));
        if (tasks_.empty()) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  absl::Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_WORKER_POOL_H_
