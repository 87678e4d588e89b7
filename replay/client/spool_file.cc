#include "replay/client/spool_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file_io.h"
#include "base/file_lock.h"
#include "base/message_file.h"

namespace mallocmuzero {
namespace {

// A disk without room is no mistake of the operator: the next start may find some.
absl::Status CannotUse(const std::string& path, absl::string_view action, int error) {
  const std::string message = absl::StrCat("spool_dir: ", ErrnoMessage(path, action, error));
  return IsNoRoom(error) ? absl::ResourceExhaustedError(message)
                         : absl::InvalidArgumentError(message);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SpoolFile>> SpoolFile::Open(const std::string& folder,
                                                           const std::string& name) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return CannotUse(folder, "cannot make this folder", error.value());
  const std::string path = absl::StrCat(folder, "/", name, ".spool");
  // The lock file is never removed: a process that has opened a removed file would lock that one
  // and not the file that others see.
  const std::string lock_path = absl::StrCat(path, ".lock");
  const int lock = open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock < 0) return CannotUse(lock_path, "cannot write", errno);
  auto file = absl::WrapUnique(new SpoolFile(path, lock));
  if (LockFile(lock, lock_path)) return file;
  return absl::FailedPreconditionError(absl::StrCat(path, ": another process has this spool"));
}

SpoolFile::~SpoolFile() { close(lock_); }

absl::StatusOr<v1::ReplaySpool> SpoolFile::Read() const {
  return ReadMessage<v1::ReplaySpool>(path_);
}

absl::Status SpoolFile::Write(const v1::ReplaySpool& spool) const {
  return WriteMessage(path_, spool);
}

void SpoolFile::Remove() const { std::remove(path_.c_str()); }

}  // namespace mallocmuzero
