// The class that implements durable_storage.h.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_DURABLE_STORAGE_IMPL_H_
#define MALLOCMUZERO_REPLAY_SERVICE_DURABLE_STORAGE_IMPL_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "replay/service/disk_watch.h"
#include "replay/service/durable_storage.h"
#include "replay/service/item_cache.h"
#include "replay/service/item_database.h"
#include "replay/service/segment_log.h"
#include "replay/service/slot.h"
#include "replay/service/slot_array.h"
#include "replay/service/storage.h"
#include "replay/wire/item.h"

namespace mallocmuzero {

class DurableStorageImpl final : public Storage {
 public:
  DurableStorageImpl(const DurableStorageOptions& options, std::unique_ptr<ItemDatabase> database,
                     std::unique_ptr<SegmentLog> segments)
      : options_(options),
        database_(std::move(database)),
        segments_(std::move(segments)),
        watch_(std::make_shared<DiskWatch>(options.patience)),
        cache_(options.cache_bytes) {}

  bool on_disk() const override { return true; }
  absl::StatusOr<RecoveredShard> Recover() override;
  void Restore(Slot slot, uint64_t serial) override;
  absl::Status Commit(const StorageBatch& batch) override;
  void Publish(const StorageBatch& batch) override;
  std::vector<LostItem> Tidy() override;
  void Remove(Slot slot) override;
  std::vector<StoredBytes> Get(absl::Span<const Slot> slots) override;
  absl::Status Sync() override;
  uint64_t bytes_on_disk() const override { return bytes_on_disk_; }
  uint64_t bytes_in_memory() const override;
  absl::StatusOr<ShardCopy> Checkpoint() override;
  std::string trouble() const override;
  std::string hang() const override { return watch_->trouble(); }

 private:
  struct Entry {
    uint64_t serial = 0;  // 0: a free slot
    SegmentPlace place;
    double total_return = 0;  // that of the record; a replacement's bytes may have another one
  };

  // A record that a failed write may have left.
  struct FailedPut {
    SlotItem item;
    SegmentPlace place;
  };

  // Items that move to another segment. Equal indices of the lists belong to the same item.
  struct Move {
    std::vector<SlotItem> from;
    std::vector<SegmentPlace> old_places;
    std::vector<double> returns;
    std::vector<Item> items;
    std::vector<ItemDatabase::Record> records;
  };

  void MeasureDisk();
  absl::Status CheckSpace(uint64_t bytes) const;
  absl::Status Store(const StorageBatch& batch);
  absl::Status UndoFailedWrite();
  absl::Status MoveWorstSegment(std::vector<LostItem>& lost);
  absl::Status ReadSegment(uint32_t segment, Move& move, std::vector<LostItem>& lost);
  absl::Status ReadItems(Move& move, std::vector<LostItem>& lost) const;
  absl::Status MoveItems(Move& move);
  absl::Status CopyInto(const std::string& folder);

  const DurableStorageOptions options_;
  const std::unique_ptr<ItemDatabase> database_;
  const std::unique_ptr<SegmentLog> segments_;

  absl::Mutex copy_mutex_;  // held while a copy is made
  const std::shared_ptr<DiskWatch> watch_;
  std::atomic<uint64_t> bytes_on_disk_ = 0;

  mutable absl::Mutex mutex_;                         // not held while the disk is used
  SlotArray<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by slot
  ItemCache cache_ ABSL_GUARDED_BY(mutex_);
  std::string trouble_ ABSL_GUARDED_BY(mutex_);       // why the last Commit failed
  std::string tidy_trouble_ ABSL_GUARDED_BY(mutex_);  // why the last Tidy failed

  // Recovered items that have no slot yet, and the places of removed items whose records are still
  // in the database, by serial.
  absl::flat_hash_map<uint64_t, Entry> recovered_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, SegmentPlace> removed_ ABSL_GUARDED_BY(mutex_);

  // The places of the batch that Commit has stored and Publish will take over.
  std::vector<SegmentPlace> places_;

  // The places of items that Publish has replaced, until Tidy releases their bytes.
  std::vector<SegmentPlace> replaced_;

  absl::Time measured_ = absl::InfinitePast();  // when bytes_on_disk_ was measured, by SteadyNow

  // The records of the last write of Commit or Tidy, if that write failed.
  std::vector<FailedPut> failed_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_DURABLE_STORAGE_IMPL_H_
