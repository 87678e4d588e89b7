#include "learner/run_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file_lock.h"

namespace mallocmuzero {

absl::StatusOr<RunLock> RunLock::Acquire(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InternalError(
        absl::StrCat(folder, ": cannot make this folder: ", error.message()));
  }
  const std::string path = folder + "/lock";
  // The file is never removed: a process that waits for the old file would not see a new one.
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) {
    return absl::InternalError(absl::StrCat(path, ": cannot write: ", std::strerror(errno)));
  }
  RunLock lock(fd);
  if (LockFile(fd, path)) return lock;
  return absl::FailedPreconditionError(
      absl::StrCat(folder, ": another process is training this run; end it first"));
}

RunLock::~RunLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace mallocmuzero
