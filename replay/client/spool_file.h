// Where a writer leaves what it could not deliver, and the next one of its name finds it.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_SPOOL_FILE_H_
#define MALLOCMUZERO_REPLAY_CLIENT_SPOOL_FILE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mallocmuzero/v1/replay.pb.h"

namespace mallocmuzero {

// Belongs to one process at a time, by a lock beside it that ends with the process. Thread-safe.
class SpoolFile {
 public:
  // FOLDER/NAME.spool; makes the folder. InvalidArgument if it cannot be written to, which a stop
  // would find out too late; FailedPrecondition if another process has this spool.
  static absl::StatusOr<std::unique_ptr<SpoolFile>> Open(const std::string& folder,
                                                         const std::string& name);
  ~SpoolFile();
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;

  // NotFound if there is none. Other errors name the file.
  absl::StatusOr<v1::ReplaySpool> Read() const;
  absl::Status Write(const v1::ReplaySpool& spool) const;

  // Should it stay, what is in it is sent again, and known.
  void Remove() const;

  const std::string& path() const { return path_; }

 private:
  SpoolFile(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;  // descriptor
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_SPOOL_FILE_H_
