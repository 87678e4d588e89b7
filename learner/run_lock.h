// A lock: only one process at a time may use a run's folder.

#ifndef MALLOCMUZERO_LEARNER_RUN_LOCK_H_
#define MALLOCMUZERO_LEARNER_RUN_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace mallocmuzero {

// Holds RUN/lock while it lives. The lock ends with the process, even if the process crashes. A
// process that only reads needs no lock.
class RunLock {
 public:
  // Makes the folder and the file if they do not exist. FailedPrecondition if any process holds the
  // lock already; Internal if the file cannot be made. Both name the folder. On a file system
  // without locks, several processes can hold it.
  static absl::StatusOr<RunLock> Acquire(const std::string& folder);

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
