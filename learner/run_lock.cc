#include "learner/run_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file_io.h"
#include "base/file_lock.h"
#include "base/make_folder.h"
#include "base/status_macros.h"

namespace mallocmuzero {
namespace {

// Names this process as no other: "process 4711 on host-a, since 2026-11-21T18:10:02.123456789Z".
std::string NameOfThisProcess() {
  char host[128] = "an unknown host";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat("process ", getpid(), " on ", host, ", since ",
                      absl::FormatTime("%Y-%m-%dT%H:%M:%E9SZ", absl::Now(), absl::UTCTimeZone()));
}

// The process that the file names; empty if there is none.
std::string ReadHolder(int fd) {
  char text[512];
  const ssize_t size = pread(fd, text, sizeof(text), 0);
  return size <= 0 ? "" : std::string(text, size);
}

bool WriteHolder(int fd, const std::string& holder) {
  return ftruncate(fd, 0) == 0 && pwrite(fd, holder.data(), holder.size(), 0) == std::ssize(holder);
}

}  // namespace

absl::StatusOr<RunLock> RunLock::Acquire(const std::string& folder) {
  MMZ_RETURN_IF_ERROR(MakeFolder(folder));
  const std::string path = folder + "/lock";
  // The file is never removed: a process that waits for the old file would not see a new one.
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return ErrnoStatus(path, "cannot write", errno);
  RunLock lock(fd, path);
  if (!LockFile(fd, path)) {
    const std::string holder = ReadHolder(fd);
    return absl::FailedPreconditionError(
        absl::StrCat(folder, ": another process is training this run", holder.empty() ? "" : " (",
                     holder, holder.empty() ? "" : ")", "; end it first"));
  }
  lock.holder_ = NameOfThisProcess();
  if (!WriteHolder(fd, lock.holder_)) return ErrnoStatus(path, "cannot write", errno);
  return lock;
}

absl::Status RunLock::Check() const {
  // The file is opened again, because a network file system may show an open file as it was.
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::OkStatus();
  const std::string holder = ReadHolder(fd);
  close(fd);
  if (holder.empty() || holder == holder_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path_,
                                                    ": another process has taken over this run (",
                                                    holder, "), so this one saves nothing more"));
}

RunLock::~RunLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace mallocmuzero
