// Files that bytes are appended to, and that go once nothing in them is wanted.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_SEGMENT_LOG_H_
#define MALLOCMUZERO_REPLAY_SERVICE_SEGMENT_LOG_H_

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "replay/service/item.h"

namespace mallocmuzero {

// Where bytes are.
struct SegmentPlace {
  uint32_t segment = 0;
  uint32_t bytes = 0;
  uint64_t offset = 0;
  uint32_t crc32c = 0;
};

// A segment, open for reading. Its bytes can be read even when its name has gone.
class SegmentFile {
 public:
  static absl::StatusOr<std::shared_ptr<SegmentFile>> Open(const std::string& path, int flags);
  ~SegmentFile();
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;

  // DataLoss if they are not what was written.
  absl::StatusOr<grpc::Slice> Read(const SegmentPlace& place) const;

  // Gives the file another name. Nobody may be reading it.
  absl::Status Rename(const std::string& path);

  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  SegmentFile(std::string path, int descriptor);

  std::string path_;
  const int descriptor_;
};

struct SegmentLogOptions {
  std::string folder;          // exists
  uint64_t segment_bytes = 0;  // when the next file is begun
  bool sync = false;           // Append waits until the disk has the bytes
};

// A file is appended to by the run that began it and by no other, so a hard link to it is a copy.
// Files that are done with are written over, unless they have a second link: their pages are in
// memory and their blocks on the disk, which saves a third of the time of writing a new one.
// Bytes in use are counted by file: Use and Release. Thread-safe; Append for one thread at a time.
class SegmentLog {
 public:
  // Finds the files of earlier runs.
  static absl::StatusOr<std::unique_ptr<SegmentLog>> Open(SegmentLogOptions options);

  // Writes them one after the other, in use from the start. On an error nothing is written:
  // ResourceExhausted if there is no room.
  absl::StatusOr<std::vector<SegmentPlace>> Append(absl::Span<const Item* const> items);

  // Waits until the disk has all that was appended to the file of `place`, and the file's name.
  absl::Status Sync(const SegmentPlace& place) const;

  // Bytes of an earlier run that are in use. False: the file is gone or too short.
  bool Use(const SegmentPlace& place);

  // They are no longer in use. A file that has none left is removed.
  void Release(const SegmentPlace& place);

  // Removes files of earlier runs of which nothing is in use. After all Use.
  void RemoveUnused();

  // Of a place in use.
  std::shared_ptr<const SegmentFile> File(const SegmentPlace& place) const;

  // Until Unpin no file is removed.
  void Pin();
  void Unpin();

  // Hard links to all files. Between Pin and Unpin.
  absl::Status LinkInto(const std::string& folder) const;

  // The file, not the last one, with the least in use, if less than half of all bytes are in use:
  // moving what is in use would free it. UINT32_MAX: there is none.
  uint32_t WorstSegment() const;

  // Gives the disk back what is kept to be written over. False: there was nothing.
  bool FreeSpares();

  uint64_t bytes() const;

 private:
  struct Segment {
    std::shared_ptr<SegmentFile> file;
    uint64_t size = 0;
    uint64_t used = 0;
  };

  explicit SegmentLog(SegmentLogOptions options);

  absl::Status Scan();
  absl::Status BeginSegment();
  absl::Status SyncFolder() const;
  absl::Status Write(const SegmentFile& file, uint64_t offset,
                     absl::Span<const Item* const> items) const;
  absl::StatusOr<std::shared_ptr<SegmentFile>> MakeFile(uint32_t number);
  std::shared_ptr<SegmentFile> TakeOut(uint32_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Discard(std::shared_ptr<SegmentFile> file);
  bool Spare(const std::shared_ptr<SegmentFile>& file);

  const SegmentLogOptions options_;
  mutable absl::Mutex mutex_;  // not held while the disk is used, but by Scan
  std::map<uint32_t, Segment> segments_ ABSL_GUARDED_BY(mutex_);  // by number
  uint32_t active_ ABSL_GUARDED_BY(mutex_) = 0;  // the one that is appended to; 0: none yet
  uint32_t next_ ABSL_GUARDED_BY(mutex_) = 1;
  uint32_t pins_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> unlink_later_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<SegmentFile>> spares_ ABSL_GUARDED_BY(mutex_);  // to be written over
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SEGMENT_LOG_H_
