#include "replay/client/acknowledged_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/file_io.h"

namespace mallocmuzero {

absl::StatusOr<std::unique_ptr<AcknowledgedLog>> AcknowledgedLog::Open(const std::string& path) {
  std::error_code ignored;  // open(2) says what is wrong
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (fd < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("acknowledged_log: ", path, ": ", std::strerror(errno)));
  }
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
