// The records of a durable shard's items, in RocksDB.

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

// Thread-safe, except that only one thread at a time may call Write.
class ItemDatabase {
 public:
  // Opens or makes the database. With `sync` every write waits until the disk has it.
  // InvalidArgument if another process has the folder open or its formats have another version;
  // DataLoss if the database is damaged.
  static absl::StatusOr<std::unique_ptr<ItemDatabase>> Open(const std::string& folder, bool sync);
  ~ItemDatabase();

  struct Record {
    uint64_t serial = 0;
    ItemMetadata metadata;
    SegmentPlace place;
    std::vector<float> priorities;
  };
  struct Content {
    std::vector<Record> records;    // in ascending order of serials
    std::vector<uint64_t> damaged;  // serials of records that no shard writes
    std::vector<StorageBatch::Eviction> evicted;
    ShardCounters counters;
    bool ids_left_out = false;
  };
  // Reads everything, but of the evicted ids only the `most_evicted` latest. Leaves out priorities
  // that are not valid.
  absl::StatusOr<Content> Read(uint64_t most_evicted = UINT64_MAX);

  // Stores all of the batch or nothing. `places` are the places of batch.puts, in the same order.
  // ResourceExhausted if the disk is full. After an error the next call opens the database again,
  // so that it may succeed.
  absl::Status Write(const StorageBatch& batch, const std::vector<SegmentPlace>& places);

  // Overwrites the records of items that have new places, and deletes the records and priorities of
  // the serials `erased`, all or none. With `sync` a power cut does not undo it.
  absl::Status Rewrite(const std::vector<Record>& records, const std::vector<uint64_t>& erased,
                       bool sync);

  // Waits until the disk has all earlier writes.
  absl::Status Sync();

  // Makes a consistent copy, by hard links, in `folder`, which must not exist.
  absl::Status CopyTo(const std::string& folder);

  // The size of the database's files.
  uint64_t bytes() const;

 private:
  struct Files;
  class Batch;

  ItemDatabase(std::string folder, bool sync);

  absl::Status ReadCounters(const Files& open, ShardCounters& counters) const;
  static absl::Status ReadRecords(const Files& open, Content& content);
  static absl::Status ReadPriorities(const Files& open, std::vector<Record>& records);
  static absl::Status ReadEvicted(const Files& open, uint64_t most, Content& content);
  absl::StatusOr<std::shared_ptr<Files>> OpenFiles() const;
  absl::StatusOr<std::shared_ptr<Files>> Use();
  absl::Status CheckVersion();
  absl::Status Commit(const std::function<void(Batch&)>& fill, bool sync);

  const std::string folder_;
  const bool sync_;
  int64_t forgotten_ = 0;  // Unix seconds up to which Write has deleted evicted ids
  absl::Mutex mutex_;
  std::shared_ptr<Files> files_ ABSL_GUARDED_BY(mutex_);
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // a write has failed since the last opening
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_ITEM_DATABASE_H_
