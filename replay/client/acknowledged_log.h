// A file with the ids of acknowledged trajectories, for audits.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_ACKNOWLEDGED_LOG_H_
#define MALLOCMUZERO_REPLAY_CLIENT_ACKNOWLEDGED_LOG_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace mallocmuzero {

// Appends ids to a file, one a line, as 32 hexadecimal digits. A written line survives the process
// but not a power cut. Thread-safe.
class AcknowledgedLog {
 public:
  // Creates the file and its folder if they do not exist. Errors name the file or the folder:
  // ResourceExhausted if the disk has no room, else InvalidArgument or NotFound.
  static absl::StatusOr<std::unique_ptr<AcknowledgedLog>> Open(const std::string& path);
  ~AcknowledgedLog();
  AcknowledgedLog(const AcknowledgedLog&) = delete;
  AcknowledgedLog& operator=(const AcknowledgedLog&) = delete;

  // Appends an id of 16 bytes. After a failed write, as on a full disk, it does nothing: the line
  // that was cut short stays the last one.
  void Append(absl::string_view id);

  // OK if the file has all ids, else the error of the write that failed.
  absl::Status status() const;

 private:
  AcknowledgedLog(std::string path, int fd);

  const std::string path_;
  const int fd_;

  mutable absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_ACKNOWLEDGED_LOG_H_
