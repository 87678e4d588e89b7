#include "serve/work_queue.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/size32.h"

namespace mallocmuzero {

WorkQueue::WorkQueue(uint32_t threads, uint32_t waiting) : most_(threads + waiting) {
  for (uint32_t k = 0; k < threads; ++k) threads_.emplace_back([this] { RunWork(); });
}

WorkQueue::~WorkQueue() {
  Close();
  Join();
}

absl::Status WorkQueue::Push(Work* work) {
  const absl::MutexLock lock(&mutex_);
  if (closed_) return absl::UnavailableError("the server is stopping");
  if (queue_.size() + running_ >= most_) {
    return absl::ResourceExhaustedError(absl::StrCat(running_, " searches run and ", queue_.size(),
                                                     " wait, as many as may; try again later"));
  }
  queue_.push_back(work);
  return absl::OkStatus();
}

bool WorkQueue::Remove(Work* work) {
  const absl::MutexLock lock(&mutex_);
  return std::erase(queue_, work) > 0;
}

std::vector<Work*> WorkQueue::Close() {
  const absl::MutexLock lock(&mutex_);
  closed_ = true;
  std::vector<Work*> left(queue_.begin(), queue_.end());
  queue_.clear();
  return left;
}

void WorkQueue::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

uint32_t WorkQueue::running() const {
  const absl::MutexLock lock(&mutex_);
  return running_;
}

uint32_t WorkQueue::waiting() const {
  const absl::MutexLock lock(&mutex_);
  return Size32(queue_);
}

void WorkQueue::RunWork() {
  const auto has_work = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return closed_ || !queue_.empty();
  };
  for (;;) {
    Work* work = nullptr;
    {
      const absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&has_work));
      if (queue_.empty()) return;
      work = queue_.front();
      queue_.pop_front();
      ++running_;
    }
    bool left = false;
    const auto leave = [this, &left] {
      const absl::MutexLock lock(&mutex_);
      if (!std::exchange(left, true)) --running_;
    };
    work->Run(leave);
    leave();
  }
}

}  // namespace mallocmuzero
