// Tells a disk that hangs from one that has nothing to do.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_DISK_WATCH_H_
#define MALLOCMUZERO_REPLAY_SERVICE_DISK_WATCH_H_

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace mallocmuzero {

// Knows since when each use of the disk runs. Thread-safe; no lock is held while the disk is used.
class DiskWatch {
 public:
  // A use that runs for longer than `patience` is trouble.
  explicit DiskWatch(absl::Duration patience) : patience_(patience) {}

  // Lives as long as the use of the disk.
  class Use {
   public:
    explicit Use(DiskWatch& watch) : watch_(watch) {
      const absl::MutexLock lock(&watch_.mutex_);
      since_ = watch_.running_.insert(absl::Now());
    }
    ~Use() {
      const absl::MutexLock lock(&watch_.mutex_);
      watch_.running_.erase(since_);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    DiskWatch& watch_;
    std::multiset<absl::Time>::iterator since_;
  };

  // How long the oldest use has waited for the disk, if that is too long; else empty.
  std::string trouble() const {
    const absl::MutexLock lock(&mutex_);
    if (running_.empty()) return {};
    const absl::Duration waited = absl::Now() - *running_.begin();
    if (waited <= patience_) return {};
    return absl::StrFormat("no answer for %.0f s", absl::ToDoubleSeconds(waited));
  }

 private:
  const absl::Duration patience_;
  mutable absl::Mutex mutex_;
  std::multiset<absl::Time> running_ ABSL_GUARDED_BY(mutex_);  // when each one began
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_DISK_WATCH_H_
