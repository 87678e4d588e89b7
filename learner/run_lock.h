// A lock: only one process at a time may write to a run's folder.

#ifndef MALLOCMUZERO_LEARNER_RUN_LOCK_H_
#define MALLOCMUZERO_LEARNER_RUN_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mallocmuzero {

// Holds RUN/lock while it lives. The lock ends with the process, even if the process crashes. A
// process that only reads needs no lock.
class RunLock {
 public:
  // Makes the folder and the file if they do not exist, and writes this process's host, id and
  // start into the file. FailedPrecondition, naming the folder, if any process holds the lock
  // already; the message names that process. Errors of MakeFolder and ErrnoStatus if the folder or
  // the file cannot be made. On a file system without locks several processes can acquire it, and
  // Check tells the earlier ones.
  static absl::StatusOr<RunLock> Acquire(const std::string& folder);

  // FailedPrecondition, with the name of the other process, if another process has acquired the
  // lock since this one has. Call it before each write to the folder.
  absl::Status Check() const;

  RunLock(RunLock&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        path_(std::move(other.path_)),
        holder_(std::move(other.holder_)) {}
  RunLock& operator=(RunLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(path_, other.path_);
    std::swap(holder_, other.holder_);
    return *this;
  }
  ~RunLock();

 private:
  RunLock(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_ = -1;
  std::string path_;    // of the file
  std::string holder_;  // the file's content while this process holds the lock
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_RUN_LOCK_H_
