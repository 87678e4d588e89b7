#include "replay/client/acknowledged_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/file_io.h"
#include "base/make_folder.h"
#include "base/status_at.h"
#include "base/status_macros.h"

namespace mallocmuzero {

absl::StatusOr<std::unique_ptr<AcknowledgedLog>> AcknowledgedLog::Open(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!folder.empty()) MMZ_RETURN_IF_ERROR(StatusAt("acknowledged_log", MakeFolder(folder)));
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (fd < 0) return StatusAt("acknowledged_log", ErrnoStatus(path, "cannot write", errno));
  return std::unique_ptr<AcknowledgedLog>(new AcknowledgedLog(path, fd));
}

AcknowledgedLog::AcknowledgedLog(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

AcknowledgedLog::~AcknowledgedLog() { close(fd_); }

void AcknowledgedLog::Append(absl::string_view id) {
  const std::string line = absl::StrCat(absl::BytesToHexString(id), "\n");
  const absl::MutexLock lock(&mutex_);
  if (status_.ok()) status_ = WriteBytes(fd_, path_, line);
}

absl::Status AcknowledgedLog::status() const {
  const absl::MutexLock lock(&mutex_);
  return status_;
}

}  // namespace mallocmuzero
