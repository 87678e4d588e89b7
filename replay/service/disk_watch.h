// Tells whether a disk hangs.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_DISK_WATCH_H_
#define MALLOCMUZERO_REPLAY_SERVICE_DISK_WATCH_H_

#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/steady_clock.h"

namespace mallocmuzero {

// Records when each running use of the disk began. Thread-safe. Holds no lock during a use.
class DiskWatch {
 public:
  // A use that takes longer than `patience` counts as a disk that hangs.
  explicit DiskWatch(absl::Duration patience) : patience_(patience) {}

  // Marks a use of the disk while it lives.
  class Use {
   public:
    explicit Use(DiskWatch& watch) : watch_(watch) {
      const absl::MutexLock lock(&watch_.mutex_);
      since_ = watch_.running_.insert(SteadyNow());
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

  // Says how long the oldest use has taken, if that is longer than `patience`; else empty.
  std::string trouble() const {
    const absl::MutexLock lock(&mutex_);
    if (running_.empty()) return {};
    const absl::Duration waited = SteadyNow() - *running_.begin();
    if (waited <= patience_) return {};
    return absl::StrFormat("no answer for %.0f s", absl::ToDoubleSeconds(waited));
  }

 private:
  const absl::Duration patience_;
  mutable absl::Mutex mutex_;
  std::multiset<absl::Time> running_ ABSL_GUARDED_BY(mutex_);  // when each began, by SteadyNow
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_DISK_WATCH_H_
