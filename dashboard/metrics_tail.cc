#include "dashboard/metrics_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/message_json.h"

namespace mallocmuzero {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

// Enough of a line for its numbers to differ from those of another run.
constexpr size_t kLastBytes = 256;

absl::Status CannotRead(const std::string& path) {
  return absl::InternalError(absl::StrCat(path, ": cannot read: ", std::strerror(errno)));
}

}  // namespace

absl::Status MetricsTail::Refresh() {
  const int file = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    if (errno != ENOENT) return CannotRead(path_);
    Forget();
    changed_ = absl::InfinitePast();
    return absl::OkStatus();
  }
  struct stat found {};
  absl::Status status;
  if (fstat(file, &found) != 0) {
    status = CannotRead(path_);
  } else {
    const uint64_t size = found.st_size;
    if (found.st_dev != device_ || found.st_ino != inode_ || size < read_bytes_ ||
        !HasLastBytes(file)) {
      Forget();
    }
    device_ = found.st_dev;
    inode_ = found.st_ino;
    changed_ = absl::TimeFromTimespec(found.st_mtim);
    status = ReadNewLines(file, size);
  }
  close(file);
  return status;
}

absl::Status MetricsTail::ReadNewLines(int file, uint64_t size) {
  std::string chunk(kChunkBytes, '\0');
  while (read_bytes_ < size) {
    const ssize_t count = pread(file, chunk.data(), std::min(kChunkBytes, size - read_bytes_),
                                static_cast<off_t>(read_bytes_));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotRead(path_);
    if (count == 0) break;  // the file was cut short meanwhile
    read_bytes_ += count;
    rest_.append(chunk, 0, count);
    last_.append(chunk, 0, count);
    last_.erase(0, last_.size() - std::min(last_.size(), kLastBytes));
    TakeLines();
  }
  return absl::OkStatus();
}

bool MetricsTail::HasLastBytes(int file) const {
  std::string found(last_.size(), '\0');
  const auto begin = static_cast<off_t>(read_bytes_ - last_.size());
  return pread(file, found.data(), found.size(), begin) == std::ssize(found) && found == last_;
}

void MetricsTail::TakeLines() {
  absl::string_view left = rest_;
  for (size_t end = left.find('\n'); end != absl::string_view::npos; end = left.find('\n')) {
    v1::TrainMetrics metrics;
    if (MessageFromJson(left.substr(0, end), metrics).ok()) {
      iterations_.push_back(std::move(metrics));
    } else {
      ++damaged_lines_;
    }
    left.remove_prefix(end + 1);
  }
  rest_.erase(0, rest_.size() - left.size());
}

void MetricsTail::Forget() {
  iterations_.clear();
  damaged_lines_ = 0;
  read_bytes_ = 0;
  rest_.clear();
  last_.clear();
}

}  // namespace mallocmuzero
