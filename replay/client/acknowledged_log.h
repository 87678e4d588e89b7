// Ids of acknowledged trajectories, written down for audits.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_ACKNOWLEDGED_LOG_H_
#define MALLOCMUZERO_REPLAY_CLIENT_ACKNOWLEDGED_LOG_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// Appends to a file, 32 hexadecimal digits a line. A line that has been written survives the
// process. Thread-safe.
class AcknowledgedLog {
 public:
  // Creates the file and its folder. InvalidArgument names what cannot be written to.
  static absl::StatusOr<std::unique_ptr<AcknowledgedLog>> Open(const std::string& path);
  ~AcknowledgedLog();
  AcknowledgedLog(const AcknowledgedLog&) = delete;
  AcknowledgedLog& operator=(const AcknowledgedLog&) = delete;

  // Of 16 bytes. On a full disk the id is left out.
  void Append(absl::string_view id) const;

 private:
  explicit AcknowledgedLog(int fd) : fd_(fd) {}

  const int fd_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_ACKNOWLEDGED_LOG_H_
