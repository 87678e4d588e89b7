// The file in which a writer leaves items that it could not deliver, for the next writer of its
// name.

#ifndef MALLOCMUZERO_REPLAY_CLIENT_SPOOL_FILE_H_
#define MALLOCMUZERO_REPLAY_CLIENT_SPOOL_FILE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mallocmuzero/v1/replay.pb.h"

namespace mallocmuzero {

// Held by one process at a time: a lock file beside the spool is locked for the lifetime of this
// object, or of its process. Thread-safe.
class SpoolFile {
 public:
  // Locks the spool FOLDER/NAME.spool and makes the folder if needed. InvalidArgument if the folder
  // cannot be written, or ResourceExhausted if its disk is full, so that this is known at the start
  // and not at the stop. FailedPrecondition if another process holds this spool.
  static absl::StatusOr<std::unique_ptr<SpoolFile>> Open(const std::string& folder,
                                                         const std::string& name);
  ~SpoolFile();
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;

  // Reads the spool. NotFound if there is no file; other errors name the file.
  absl::StatusOr<v1::ReplaySpool> Read() const;
  absl::Status Write(const v1::ReplaySpool& spool) const;

  // Removes the file. Ignores errors: if the file stays, its items are sent again, and the shards
  // know their ids.
  void Remove() const;

  const std::string& path() const { return path_; }

 private:
  SpoolFile(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  const std::string path_;
  const int lock_;  // descriptor
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_CLIENT_SPOOL_FILE_H_
