// A run's folder belongs to one process at a time.

#ifndef MALLOCMUZERO_LEARNER_RUN_LOCK_H_
#define MALLOCMUZERO_LEARNER_RUN_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace mallocmuzero {

// Holds RUN/lock while it lives; the process's end, however it comes, lets go of it. Those who only
// read need none.
class RunLock {
 public:
  // Makes the folder and the file if they are not there. FailedPrecondition if another one is held,
  // in whatever process; Internal if the file cannot be made. Both name the folder. On a file
  // system without locks the lock keeps no process out, and the log says so.
  static absl::StatusOr<RunLock> Take(const std::string& folder);

  RunLock(RunLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RunLock& operator=(RunLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~RunLock();

 private:
  explicit RunLock(int fd) : fd_(fd) {}

  int fd_ = -1;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_RUN_LOCK_H_
