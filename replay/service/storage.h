// Where a shard's items are kept.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_STORAGE_H_
#define MALLOCMUZERO_REPLAY_SERVICE_STORAGE_H_

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/item.h"
#include "replay/service/slot_array.h"

namespace mallocmuzero {

// What a shard goes on with after a restart, besides its items.
struct ShardCounters {
  uint64_t next_serial = 1;
  uint64_t inserted_items = 0;
  uint64_t inserted_positions = 0;
  uint64_t duplicate_items = 0;
  uint64_t evicted_items = 0;
  uint64_t drawn_positions = 0;
  double highest_priority = 1;

  // As it was set, if anything was stored before: to say that it changed.
  std::optional<v1::RateLimit> rate_limit;
};

// Changes that are stored together or not at all.
struct StorageBatch {
  struct Put {
    Slot slot = 0;

    // Order of inserts, from 1, never used again. That of a stored item: it is replaced.
    uint64_t serial = 0;
    Item item;
  };
  struct Eviction {
    uint64_t serial = 0;
    ItemId id = {};
    int64_t forget_at = 0;       // Unix seconds until which the id is remembered
    bool has_priorities = true;  // there may be stored ones
  };
  struct Priorities {
    Slot slot = 0;
    uint64_t serial = 0;
    std::vector<float> values;
  };

  std::vector<Put> puts;
  std::vector<Eviction> evictions;
  std::vector<Priorities> priorities;
  std::optional<ShardCounters> counters;
  int64_t forget_before = 0;  // ids whose time is over, Unix seconds

  bool empty() const {
    return puts.empty() && evictions.empty() && priorities.empty() && !counters.has_value();
  }
};

// What a storage has from earlier runs.
struct RecoveredItem {
  uint64_t serial = 0;
  ItemMetadata metadata;
  uint64_t bytes = 0;
  std::vector<float> priorities;  // empty: none were stored
};
struct RecoveredShard {
  std::vector<RecoveredItem> items;  // serials ascend
  std::vector<StorageBatch::Eviction> evicted;
  ShardCounters counters;

  // There were more evicted ids than DurableStorageOptions::most_evicted_ids.
  bool ids_left_out = false;

  // Items whose bytes are gone, as after a power cut; their records have been deleted.
  uint64_t lost_items = 0;
};

// An item whose bytes are damaged.
struct LostItem {
  Slot slot = 0;
  uint64_t serial = 0;
};

// Bytes of an item, here or where to read them from. Stays good after the item has left.
class StoredBytes {
 public:
  using Reader = std::function<absl::StatusOr<grpc::Slice>()>;

  StoredBytes() = default;  // none
  explicit StoredBytes(grpc::Slice slice) : slice_(std::move(slice)) {}
  explicit StoredBytes(Reader read) : read_(std::move(read)) {}

  // May wait for the disk. DataLoss if what is there is not what was written.
  absl::StatusOr<grpc::Slice> Load() const {
    if (read_) return read_();
    return slice_;
  }

 private:
  grpc::Slice slice_;
  Reader read_;
};

// Commit, Publish and Tidy are for one thread at a time; the rest is thread-safe.
class Storage {
 public:
  virtual ~Storage() = default;

  // Whether it outlives the process. If so, Commit and StoredBytes::Load may wait for the disk.
  virtual bool on_disk() const = 0;

  // What was there when it was opened, slots not yet given. Once, before anything else.
  virtual absl::StatusOr<RecoveredShard> Recover() = 0;

  // A recovered item gets its slot.
  virtual void Restore(Slot slot, uint64_t serial) = 0;

  // Once it returns OK the batch survives what the storage promises to survive. On an error
  // nothing of it is stored: ResourceExhausted if the disk is full; a later one may succeed.
  virtual absl::Status Commit(const StorageBatch& batch) = 0;

  // What Commit has stored can be read, and what it has replaced is gone.
  virtual void Publish(const StorageBatch& batch) = 0;

  // Makes what is stored take less room, if it is worth it: between two batches. Returns items that
  // were found to be damaged. What goes wrong is no more than trouble().
  virtual std::vector<LostItem> Tidy() = 0;

  // The slot is free; the bytes on disk leave with the batch that names the eviction.
  virtual void Remove(Slot slot) = 0;

  // Of slots in use, in their order.
  virtual std::vector<StoredBytes> Get(absl::Span<const Slot> slots) = 0;

  // As of the last second in which something was stored.
  virtual uint64_t bytes_on_disk() const = 0;

  // Of items, kept in memory.
  virtual uint64_t bytes_in_memory() const = 0;

  // A consistent copy in a new folder, whose path it returns; on an error there is none.
  // FailedPrecondition if nothing is on disk.
  virtual absl::StatusOr<std::string> Checkpoint() = 0;

  // Why the last Commit or Tidy failed, or what hang() says; empty: nothing is wrong.
  virtual std::string trouble() const = 0;

  // For how long the disk has not answered, once that is too long; empty: it answers. Neither this
  // nor trouble(), bytes_on_disk() and bytes_in_memory() wait for the disk.
  virtual std::string hang() const = 0;
};

// Gone with the process.
class MemoryStorage final : public Storage {
 public:
  bool on_disk() const override { return false; }
  absl::StatusOr<RecoveredShard> Recover() override { return RecoveredShard(); }
  void Restore(Slot, uint64_t) override {}
  absl::Status Commit(const StorageBatch&) override { return absl::OkStatus(); }
  void Publish(const StorageBatch& batch) override;
  std::vector<LostItem> Tidy() override { return {}; }
  void Remove(Slot slot) override;
  std::vector<StoredBytes> Get(absl::Span<const Slot> slots) override;
  uint64_t bytes_on_disk() const override { return 0; }
  uint64_t bytes_in_memory() const override;
  absl::StatusOr<std::string> Checkpoint() override;
  std::string trouble() const override { return {}; }
  std::string hang() const override { return {}; }

 private:
  mutable absl::Mutex mutex_;
  SlotArray<grpc::Slice> items_ ABSL_GUARDED_BY(mutex_);  // by slot
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_STORAGE_H_
