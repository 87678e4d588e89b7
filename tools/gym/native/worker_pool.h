// Threads that divide the elements of a batch among themselves.

#ifndef MALLOCMUZERO_TOOLS_GYM_NATIVE_WORKER_POOL_H_
#define MALLOCMUZERO_TOOLS_GYM_NATIVE_WORKER_POOL_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"

namespace mallocmuzero::gym {

// Lets forks of this process use and destroy absl::Mutex. Call it before any thread is started.
// Debian's Abseil looks for deadlocks under a lock of the whole process. A fork that is made while
// another thread holds that lock would wait for it for ever.
void AllowForks();

// Not thread-safe: one thread at a time may call Run.
class WorkerPool {
 public:
  // The body of a loop over the elements from `begin` to `end` - 1, for thread number `thread`.
  using Body = absl::FunctionRef<void(uint32_t thread, size_t begin, size_t end)>;

  // `threads` includes the thread that calls Run. With 1 the pool starts no thread. Throws
  // std::system_error if the system has no more threads.
  explicit WorkerPool(uint32_t threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  uint32_t threads() const { return threads_; }

  // False in a fork of the process that made the pool: fork copies no threads. Run may not be
  // called there.
  bool HasItsThreads() const;

  // Calls `body` once on each thread, with parts of [0, count) of nearly equal size. Returns when
  // all calls have returned. The calls run at the same time and must not throw.
  void Run(size_t count, Body body) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void StopWorkers() ABSL_LOCKS_EXCLUDED(mutex_);
  void Work(uint32_t thread) ABSL_LOCKS_EXCLUDED(mutex_);
  void RunPart(uint32_t thread, size_t count, Body body) const;

  const uint32_t threads_;
  const pid_t process_;  // that made the pool
  absl::Mutex mutex_;
  const Body* body_ ABSL_GUARDED_BY(mutex_) = nullptr;
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t round_ ABSL_GUARDED_BY(mutex_) = 0;    // calls of Run so far
  uint32_t running_ ABSL_GUARDED_BY(mutex_) = 0;  // workers that have not ended the round
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;
};

}  // namespace mallocmuzero::gym

#endif  // MALLOCMUZERO_TOOLS_GYM_NATIVE_WORKER_POOL_H_
