#include "tools/gym/native/worker_pool.h"

#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace mallocmuzero::gym {

void AllowForks() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

WorkerPool::WorkerPool(uint32_t threads) : threads_(std::max(threads, 1U)), process_(getpid()) {
  try {
    for (uint32_t thread = 1; thread < threads_; ++thread) {
      workers_.emplace_back([this, thread] { Work(thread); });
    }
  } catch (...) {
    StopWorkers();  // a thread that nobody joins would end the process
    throw;
  }
}

WorkerPool::~WorkerPool() {
  if (HasItsThreads()) {
    StopWorkers();
    return;
  }
  // No thread can be joined that does not exist here, and the destructor of one that was not joined
  // ends the process.
  // Without memory the process ends here, which a destructor cannot report.
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new)
  [[maybe_unused]] auto* const never_destroyed = new std::vector<std::thread>(std::move(workers_));
}

bool WorkerPool::HasItsThreads() const { return workers_.empty() || process_ == getpid(); }

void WorkerPool::StopWorkers() {
  {
    const absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  for (std::thread& worker : workers_) worker.join();
}

void WorkerPool::Run(size_t count, Body body) {
  assert(HasItsThreads());
  if (workers_.empty()) {
    RunPart(0, count, body);
    return;
  }
  {
    const absl::MutexLock lock(&mutex_);
    body_ = &body;
    count_ = count;
    running_ = threads_ - 1;
    ++round_;
  }
  RunPart(0, count, body);
  const absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](uint32_t* running) { return *running == 0; }, &running_));
}

void WorkerPool::Work(uint32_t thread) {
  uint64_t done = 0;  // rounds
  while (true) {
    const Body* body = nullptr;
    size_t count = 0;
    {
      const absl::MutexLock lock(&mutex_);
      const auto has_news = [this, &done]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return stopped_ || round_ != done;
      };
      mutex_.Await(absl::Condition(&has_news));
      if (stopped_) return;
      done = round_;
      body = body_;
      count = count_;
    }
    RunPart(thread, count, *body);
    const absl::MutexLock lock(&mutex_);
    --running_;
  }
}

void WorkerPool::RunPart(uint32_t thread, size_t count, Body body) const {
  body(thread, count * thread / threads_, count * (thread + 1) / threads_);
}

}  // namespace mallocmuzero::gym
