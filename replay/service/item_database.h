// What a durable shard knows of its items, in RocksDB.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_ITEM_DATABASE_H_
#define MALLOCMUZERO_REPLAY_SERVICE_ITEM_DATABASE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "replay/service/segment_log.h"
#include "replay/service/storage.h"

namespace mallocmuzero {

// Thread-safe; Write for one thread at a time.
class ItemDatabase {
 public:
  // InvalidArgument if another process has it open, or its formats are of another version.
  static absl::StatusOr<std::unique_ptr<ItemDatabase>> Open(const std::string& folder, bool sync);
  ~ItemDatabase();

  struct Record {
    uint64_t serial = 0;
    ItemMetadata metadata;
    SegmentPlace place;
    std::vector<float> priorities;
  };
  struct Content {
    std::vector<Record> records;  // serials ascend
    std::vector<StorageBatch::Eviction> evicted;
    ShardCounters counters;
    bool ids_left_out = false;
  };
  // Of the evicted ids the `most_evicted` latest.
  absl::StatusOr<Content> Read(uint64_t most_evicted = UINT64_MAX);

  // All of it or nothing; `places` are those of batch.puts. ResourceExhausted if the disk is full.
  // After an error the database is mended if it can be, so that a later call may succeed.
  absl::Status Write(const StorageBatch& batch, const std::vector<SegmentPlace>& places);

  // Records of items that have other places now, and records that go; all of it or nothing.
  // `sync`: a power cut does not undo it.
  absl::Status Rewrite(const std::vector<Record>& records, const std::vector<uint64_t>& erased,
                       bool sync);

  // A consistent copy, of hard links, in a folder that is not there yet.
  absl::Status CopyTo(const std::string& folder);

  uint64_t bytes() const;

 private:
  struct Files;
  class Batch;

  ItemDatabase(std::string folder, bool sync);

  static absl::Status ReadEvicted(const Files& open, uint64_t most, Content& content);
  absl::StatusOr<std::shared_ptr<Files>> OpenFiles() const;
  absl::StatusOr<std::shared_ptr<Files>> Use();
  absl::Status CheckVersion();
  absl::Status Commit(const std::function<void(Batch&)>& fill, bool sync);

  const std::string folder_;
  const bool sync_;
  int64_t forgotten_ = 0;  // of Write: the last time up to which evicted ids were deleted
  absl::Mutex mutex_;
  std::shared_ptr<Files> files_ ABSL_GUARDED_BY(mutex_);
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // a write has failed since it was opened
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_ITEM_DATABASE_H_
