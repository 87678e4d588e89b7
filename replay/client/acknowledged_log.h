// A file with the ids of acknowledged trajectories, for audits.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_ACKNOWLEDGED_LOG_H_
#define MALLOCMUZERO_REPLAY_CLIENT_ACKNOWLEDGED_LOG_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// Appends ids to a file, one a line, as 32 hexadecimal digits. A written line survives the process
// but not a power cut. Thread-safe.
class AcknowledgedLog {
 public:
  // Creates the file and its folder if they do not exist. InvalidArgument names the file if it
  // cannot be written.
  static absl::StatusOr<std::unique_ptr<AcknowledgedLog>> Open(const std::string& path);
  ~AcknowledgedLog();
  AcknowledgedLog(const AcknowledgedLog&) = delete;
  AcknowledgedLog& operator=(const AcknowledgedLog&) = delete;

  // Appends an id of 16 bytes. If the write fails, as on a full disk, the id is left out silently.
  void Append(absl::string_view id) const;

 private:
  explicit AcknowledgedLog(int fd) : fd_(fd) {}

  const int fd_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_ACKNOWLEDGED_LOG_H_
