#include "base/sync_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/file_io.h"
#include "base/status_macros.h"

namespace mallocmuzero {
namespace {

absl::Status SyncError(const std::string& path, int error) {
  const std::string message = ErrnoMessage(path, "cannot write to disk", error);
  return IsNoRoom(error) ? absl::ResourceExhaustedError(message) : absl::UnavailableError(message);
}

// `flags` are those of open() beside O_RDONLY.
absl::Status Sync(const std::string& path, int flags) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (descriptor < 0) return SyncError(path, errno);
  const int error = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  return error == 0 ? absl::OkStatus() : SyncError(path, error);
}

}  // namespace

absl::Status SyncFolder(const std::string& folder) { return Sync(folder, O_DIRECTORY); }

absl::Status SyncFiles(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error)) MMZ_RETURN_IF_ERROR(Sync(entry->path().string(), 0));
  }
  if (error) return SyncError(folder, error.value());
  return SyncFolder(folder);
}

}  // namespace mallocmuzero
