#include "replay/service/insert_queue.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/metrics.h"
#include "replay/service/replay_table.h"

namespace mallocmuzero {
namespace {

// Streams of new items read no further request while this many bytes of new items wait. The same
// holds for replacements.
constexpr size_t kMaxWaitingBytes = 64 << 20;

// A group takes no more jobs once it has this many bytes, which still fit the processor's cache.
constexpr size_t kGroupBytes = 1 << 20;

// The same for groups that are synced to the disk. A sync takes so long that groups should be
// large.
constexpr size_t kSyncedGroupBytes = 16 << 20;

// The time between two attempts to store a group.
constexpr absl::Duration kRetryInterval = absl::Seconds(1);

// The time between two flushes of priorities and counters: a crash loses those of this time.
constexpr absl::Duration kFlushInterval = absl::Seconds(1);

absl::Status Stopping() { return absl::UnavailableError("the shard is stopping"); }

}  // namespace

InsertQueue::InsertQueue(ReplayTable& table, ReplayMetrics& metrics, std::function<void()> inserted)
    : table_(table), metrics_(metrics), inserted_(std::move(inserted)) {
  if (table.on_disk()) thread_ = std::thread([this] { RunThread(); });
}

InsertQueue::~InsertQueue() { Stop(); }

void InsertQueue::Add(std::unique_ptr<InsertJob> job) {
  bool taken = false;
  {
    const absl::MutexLock lock(&mutex_);
    taken = !stopping_;
    if (taken) {
      bytes_[job->insert.is_limited() ? 0 : 1] += job->bytes;
      jobs_.push_back(std::move(job));
    }
  }
  // NOLINTNEXTLINE(bugprone-use-after-move): `job` was moved only if it was taken.
  if (!taken) return job->done(Stopping(), {});
  Wake();
}

void InsertQueue::WhenRoom(bool replacements, std::function<void()> read) {
  std::vector<std::function<void()>> readers;
  {
    const absl::MutexLock lock(&mutex_);
    if (stopping_) return;
    readers_[replacements ? 1 : 0].push_back(std::move(read));
    if (bytes_[replacements ? 1 : 0] >= kMaxWaitingBytes) DropUnwanted();
    readers = TakeReaders();
  }
  for (const std::function<void()>& reader : readers) reader();
}

// Drops the jobs of clients that are gone, to make room for others. Their items were not
// acknowledged, so the clients still have them.
void InsertQueue::DropUnwanted() {
  const auto is_unwanted = [this](const std::unique_ptr<InsertJob>& job)
                               ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                                 if (job->wanted()) return false;
                                 bytes_[job->insert.is_limited() ? 0 : 1] -= job->bytes;
                                 return true;
                               };
  jobs_.erase(std::remove_if(jobs_.begin(), jobs_.end(), is_unwanted), jobs_.end());
}

void InsertQueue::Wake() {
  if (!table_.on_disk()) return RunHere();
  const absl::MutexLock lock(&mutex_);
  woken_ = true;
  changed_.Signal();
}

size_t InsertQueue::waiting() const {
  const absl::MutexLock lock(&mutex_);
  return jobs_.size();
}

InsertQueue::Jobs InsertQueue::TakeGroup() {
  Jobs group;
  if (SteadyNow() < retry_at_) return group;
  const size_t group_bytes = table_.synced() ? kSyncedGroupBytes : kGroupBytes;
  size_t bytes = 0;
  uint64_t pending = 0;
  absl::flat_hash_set<const void*> held_back;  // streams
  for (size_t i = 0; i < jobs_.size() && bytes < group_bytes;) {
    InsertJob& job = *jobs_[i];
    const bool may_go = !job.insert.is_limited() || table_.MayInsert(pending);
    if (!may_go || held_back.contains(job.stream)) {
      held_back.insert(job.stream);
      ++i;
      continue;
    }
    if (job.insert.is_limited()) pending += job.positions;
    bytes += job.bytes;
    group.push_back(std::move(jobs_[i]));
    jobs_.erase(jobs_.begin() + i);
  }
  return group;
}

void InsertQueue::Store(Jobs jobs) {
  std::vector<TableInsert*> inserts;
  inserts.reserve(jobs.size());
  size_t items = 0;
  size_t bytes[2] = {0, 0};
  for (const std::unique_ptr<InsertJob>& job : jobs) {
    inserts.push_back(&job->insert);
    items += job->insert.items.size();
    bytes[job->insert.is_limited() ? 0 : 1] += job->bytes;
  }
  const absl::Time start = SteadyNow();
  const absl::Status status = table_.Insert(inserts);
  metrics_.commit_seconds().Observe(absl::ToDoubleSeconds(SteadyNow() - start));
  metrics_.commit_items().Observe(static_cast<double>(items));
  (status.ok() ? metrics_.inserted_bytes() : metrics_.failed_commits())
      .Increment(status.ok() ? static_cast<double>(bytes[0] + bytes[1]) : 1);
  if (!status.ok() && PutBack(jobs)) return;
  std::vector<std::function<void()>> readers;
  {
    const absl::MutexLock lock(&mutex_);
    for (const size_t kind : {0, 1}) bytes_[kind] -= bytes[kind];
    readers = TakeReaders();
  }
  for (const std::unique_ptr<InsertJob>& job : jobs) {
    metrics_.refused_items().Increment(job->insert.response.refusals_size());
    job->done(status, std::move(job->insert.response));
  }
  for (const std::function<void()>& read : readers) read();
  inserted_();
}

// Puts a group that could not be stored back to the front. Returns false if the queue stops.
bool InsertQueue::PutBack(Jobs& jobs) {
  const absl::MutexLock lock(&mutex_);
  if (stopping_) return false;
  jobs_.insert(jobs_.begin(), std::make_move_iterator(jobs.begin()),
               std::make_move_iterator(jobs.end()));
  retry_at_ = SteadyNow() + kRetryInterval;
  return true;
}

std::vector<std::function<void()>> InsertQueue::TakeReaders() {
  std::vector<std::function<void()>> taken;
  for (const size_t kind : {0, 1}) {
    if (stopping_ || bytes_[kind] >= kMaxWaitingBytes) continue;
    for (std::function<void()>& read : std::exchange(readers_[kind], {})) {
      taken.push_back(std::move(read));
    }
  }
  return taken;
}

// One thread at a time stores groups, including the jobs that other threads add meanwhile.
void InsertQueue::RunHere() {
  while (true) {
    Jobs jobs;
    {
      const absl::MutexLock lock(&mutex_);
      if (running_) {
        woken_ = true;
        return;
      }
      woken_ = false;
      jobs = TakeGroup();
      if (jobs.empty()) return;
      running_ = true;
    }
    Store(std::move(jobs));
    const absl::MutexLock lock(&mutex_);
    running_ = false;
    changed_.SignalAll();
  }
}

void InsertQueue::RunThread() {
  absl::Time flushed = SteadyNow();
  while (true) {
    Jobs jobs;
    {
      const absl::MutexLock lock(&mutex_);
      jobs = TakeGroup();
      if (jobs.empty() && stopping_) return;
      if (jobs.empty() && !woken_) changed_.WaitWithTimeout(&mutex_, kFlushInterval);
      woken_ = false;
      if (jobs.empty()) jobs = TakeGroup();
    }
    if (!jobs.empty()) Store(std::move(jobs));
    if (SteadyNow() - flushed < kFlushInterval) continue;
    // A flush that fails is tried again at the next interval; Storage::trouble() tells the error.
    table_.Flush().IgnoreError();
    flushed = SteadyNow();
  }
}

void InsertQueue::Stop() {
  std::deque<std::unique_ptr<InsertJob>> failed;
  bool is_first = false;
  {
    const absl::MutexLock lock(&mutex_);
    is_first = !std::exchange(stopping_, true);
    failed = std::exchange(jobs_, {});
    for (auto& readers : readers_) readers.clear();
    changed_.SignalAll();
    while (running_) changed_.Wait(&mutex_);
  }
  if (!is_first) return stopped_.WaitForNotification();
  for (const std::unique_ptr<InsertJob>& job : failed) job->done(Stopping(), {});
  if (thread_.joinable()) thread_.join();
  table_.Flush().IgnoreError();
  stopped_.Notify();
}

}  // namespace mallocmuzero
