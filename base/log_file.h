// A log file of bounded size.

#ifndef MALLOCMUZERO_BASE_LOG_FILE_H_
#define MALLOCMUZERO_BASE_LOG_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// Appends to a file. If the file would exceed `most_bytes`, it is renamed to PATH.1, which replaces
// an older PATH.1, and a new file is begun. Text that cannot be written is dropped, so that a full
// disk does not stop the cluster. Not thread-safe.
class LogFile {
 public:
  // Errors are those of ErrnoStatus (base/file_io.h), if the file cannot be opened for writing.
  static absl::StatusOr<LogFile> Open(const std::string& path, size_t most_bytes);
  ~LogFile();
  LogFile(LogFile&& other) noexcept;
  LogFile& operator=(LogFile&& other) noexcept;

  // Appends the text. A text that is longer than a file may be is split between lines.
  void Append(absl::string_view text);

 private:
  LogFile(std::string path, size_t most_bytes);
  bool Reopen();

  // Appends text of at most most_bytes_.
  void AppendPart(absl::string_view text);

  std::string path_;
  size_t most_bytes_;
  size_t size_ = 0;
  int fd_ = -1;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_LOG_FILE_H_
