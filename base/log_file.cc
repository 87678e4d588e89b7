#include "base/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"

namespace mallocmuzero {

absl::StatusOr<LogFile> LogFile::Open(const std::string& path, size_t most_bytes) {
  LogFile file(path, most_bytes);
  if (!file.Reopen()) return ErrnoStatus(path, "cannot write", errno);
  return file;
}

LogFile::LogFile(std::string path, size_t most_bytes)
    : path_(std::move(path)), most_bytes_(std::max<size_t>(most_bytes, 1)) {}

LogFile::~LogFile() {
  if (fd_ >= 0) close(fd_);
}

LogFile::LogFile(LogFile&& other) noexcept
    : path_(std::move(other.path_)),
      most_bytes_(other.most_bytes_),
      size_(other.size_),
      fd_(std::exchange(other.fd_, -1)) {}

LogFile& LogFile::operator=(LogFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(most_bytes_, other.most_bytes_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  return *this;
}

bool LogFile::Reopen() {
  if (fd_ >= 0) close(fd_);
  fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  struct stat info = {};
  if (fd_ < 0 || fstat(fd_, &info) != 0) return false;
  size_ = info.st_size;
  return true;
}

void LogFile::Append(absl::string_view text) {
  while (!text.empty()) {
    // Cut behind the last line that fits into a file.
    size_t part = std::min(text.size(), most_bytes_);
    const size_t line_end = text.rfind('\n', part - 1);
    if (part < text.size() && line_end != absl::string_view::npos) part = line_end + 1;
    AppendPart(text.substr(0, part));
    text.remove_prefix(part);
  }
}

void LogFile::AppendPart(absl::string_view text) {
  if (size_ > 0 && size_ + text.size() > most_bytes_) {
    // If the file cannot be kept, it is emptied. It must not grow without end.
    if (std::rename(path_.c_str(), absl::StrCat(path_, ".1").c_str()) != 0 && fd_ >= 0) {
      [[maybe_unused]] const int dropped = ftruncate(fd_, 0);
    }
    Reopen();
  }
  if (fd_ < 0) return;
  const ssize_t written = write(fd_, text.data(), text.size());
  if (written > 0) size_ += written;
}

}  // namespace mallocmuzero
