// Append-only files of items, each removed once none of its bytes are in use.

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
#include "replay/wire/item.h"

namespace mallocmuzero {

// Where the bytes of an item are, and their checksum.
struct SegmentPlace {
  uint32_t segment = 0;
  uint32_t bytes = 0;
  uint64_t offset = 0;
  uint32_t crc32c = 0;
};

// An open segment file. Its bytes can be read even after the file was unlinked. Thread-safe, except
// for Rename.
class SegmentFile {
 public:
  // Opens the file with these flags of open(2). ResourceExhausted if the disk is full, else
  // Unavailable.
  static absl::StatusOr<std::shared_ptr<SegmentFile>> Open(const std::string& path, int flags);
  ~SegmentFile();
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;

  // Reads the bytes at `place`. DataLoss if they are missing or do not match their checksum.
  absl::StatusOr<grpc::Slice> Read(const SegmentPlace& place) const;

  // Gives the file another name. No other thread may use the file.
  absl::Status Rename(const std::string& path);

  // The open file, owned by this object.
  int descriptor() const { return descriptor_; }
  const std::string& path() const { return path_; }

 private:
  SegmentFile(std::string path, int descriptor);

  std::string path_;
  const int descriptor_;
};

struct SegmentLogOptions {
  std::string folder;          // must exist
  uint64_t segment_bytes = 0;  // a file of this size is full and the next one is begun
  bool sync = false;           // if true, Append waits until the disk has the bytes
};

// Only the run that began a file appends to it, so a hard link to it serves as a copy. Files that
// are no longer used are overwritten as new segments unless they have a second link. Overwriting
// takes two thirds of the time of writing a new file, since its pages are in memory and its blocks
// are allocated. Counts the bytes in use of each file; Use and Release change the counts.
// Thread-safe, except that only one thread at a time may call Append.
class SegmentLog {
 public:
  // Opens the folder with the files of earlier runs, none of whose bytes count as in use yet.
  static absl::StatusOr<std::unique_ptr<SegmentLog>> Open(SegmentLogOptions options);

  // Writes the items one after the other and returns their places, which count as in use. On an
  // error none is stored: ResourceExhausted if the disk is full, else Unavailable.
  absl::StatusOr<std::vector<SegmentPlace>> Append(absl::Span<const Item* const> items);

  // Waits until the disk has all that was appended to the file of `place`, and the file's name.
  absl::Status Sync(const SegmentPlace& place) const;

  // Waits until the disk has all files and their names.
  absl::Status SyncAll() const;

  // Counts bytes of an earlier run as in use. Returns false if their file is missing or too short.
  bool Use(const SegmentPlace& place);

  // Counts the bytes as no longer in use. A file with no bytes in use is removed, unless it is the
  // one that is appended to.
  void Release(const SegmentPlace& place);

  // Removes files of earlier runs that have no bytes in use. Call after all calls of Use.
  void RemoveUnused();

  // The file of a place, which must be in use.
  std::shared_ptr<const SegmentFile> File(const SegmentPlace& place) const;

  // Between Pin and Unpin no file is removed from the folder. Pins nest.
  void Pin();
  void Unpin();

  // Makes hard links to all files in `folder`. Call between Pin and Unpin.
  absl::Status LinkInto(const std::string& folder) const;

  // Returns the number of the file with the smallest share of bytes in use, if less than about half
  // of all bytes are in use: moving its items elsewhere would free it. Returns UINT32_MAX if moving
  // is not worth it. The file that is appended to is left out.
  uint32_t WorstSegment() const;

  // Removes the files that are kept to be overwritten. Returns false if there were none.
  bool FreeSpares();

  // The size of all files, including those kept to be overwritten.
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
  absl::Status Write(const SegmentFile& file, uint64_t offset,
                     absl::Span<const Item* const> items) const;
  absl::StatusOr<std::shared_ptr<SegmentFile>> MakeFile(uint32_t number);
  std::shared_ptr<SegmentFile> TakeOut(uint32_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Discard(const std::shared_ptr<SegmentFile>& file);
  bool Spare(const std::shared_ptr<SegmentFile>& file);

  const SegmentLogOptions options_;
  mutable absl::Mutex mutex_;  // only Scan holds it while it uses the disk
  std::map<uint32_t, Segment> segments_ ABSL_GUARDED_BY(mutex_);  // by number
  uint32_t active_ ABSL_GUARDED_BY(mutex_) = 0;  // number of the file appended to; 0: none yet
  uint32_t next_ ABSL_GUARDED_BY(mutex_) = 1;    // number of the next file
  uint32_t pins_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> unlink_later_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<SegmentFile>> spares_ ABSL_GUARDED_BY(mutex_);  // to be overwritten
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SEGMENT_LOG_H_
