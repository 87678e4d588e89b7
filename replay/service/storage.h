// The interface of the storage that keeps a shard's items, and a storage in memory.

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
#include "replay/service/slot.h"
#include "replay/service/slot_array.h"
#include "replay/wire/item.h"

namespace mallocmuzero {

// The state of a shard, besides its items, that survives a restart.
struct ShardCounters {
  uint64_t next_serial = 1;
  uint64_t inserted_items = 0;
  uint64_t inserted_positions = 0;
  uint64_t duplicate_items = 0;
  uint64_t evicted_items = 0;
  uint64_t drawn_positions = 0;
  double highest_priority = 1;

  // The limit in force when the counters were stored, so that a change can be reported and does not
  // count earlier positions again. Empty if nothing was stored.
  std::optional<v1::RateLimit> rate_limit;
  double limiter_offset = 0;  // RateLimiter::offset
};

// Changes that are stored all or none.
struct StorageBatch {
  struct Put {
    Slot slot = 0;

    // Numbers the inserts from 1 and is never used again. A put with the serial of a stored item
    // replaces that item.
    uint64_t serial = 0;
    Item item;
  };
  struct Eviction {
    uint64_t serial = 0;
    ItemId id = {};
    int64_t forget_at = 0;       // Unix seconds until which the id is remembered
    bool has_priorities = true;  // the storage may have priorities of the item
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
  int64_t forget_before = 0;  // Unix seconds; ids with an earlier forget_at may be deleted

  bool empty() const {
    return puts.empty() && evictions.empty() && priorities.empty() && !counters.has_value();
  }
};

// The content of a storage from earlier runs.
struct RecoveredItem {
  uint64_t serial = 0;
  ItemMetadata metadata;
  uint64_t bytes = 0;
  std::vector<float> priorities;  // empty if none were stored
};
struct RecoveredShard {
  std::vector<RecoveredItem> items;  // in ascending order of serials
  std::vector<StorageBatch::Eviction> evicted;
  ShardCounters counters;

  // True if there were more evicted ids than DurableStorageOptions::most_evicted_ids.
  bool ids_left_out = false;

  // The number of items whose bytes are gone, as after a power cut, or whose records are damaged.
  // The records were deleted.
  uint64_t lost_items = 0;
};

// Names an item, as long as the item has the slot.
struct SlotItem {
  Slot slot = 0;
  uint64_t serial = 0;
};

// An item whose bytes are damaged.
struct LostItem {
  SlotItem item;
  std::string why;  // names the file and says what is wrong with it
};

// A copy of a shard's data that was just made.
struct ShardCopy {
  std::string path;
  std::vector<std::string> removed;  // older copies that were removed for it
};

// The bytes of an item, in memory or to be read from the disk. Stays valid after the item has left.
class StoredBytes {
 public:
  using Reader = std::function<absl::StatusOr<grpc::Slice>()>;

  StoredBytes() = default;  // no bytes
  explicit StoredBytes(grpc::Slice slice) : slice_(std::move(slice)) {}
  explicit StoredBytes(Reader read) : read_(std::move(read)) {}

  // Returns the bytes; may wait for the disk. DataLoss if they are damaged.
  absl::StatusOr<grpc::Slice> Load() const {
    if (read_) return read_();
    return slice_;
  }

 private:
  grpc::Slice slice_;
  Reader read_;
};

// Thread-safe, except that only one thread at a time may call Commit, Publish, Tidy or Sync. A
// batch is stored by Commit and becomes readable by Publish.
class Storage {
 public:
  virtual ~Storage() = default;

  // Whether items survive the process. If so, Commit, Tidy and StoredBytes::Load may wait for the
  // disk.
  virtual bool on_disk() const = 0;

  // Returns the content of earlier runs, whose items have no slots yet. Call once, before any other
  // function.
  virtual absl::StatusOr<RecoveredShard> Recover() = 0;

  // Gives a recovered item its slot.
  virtual void Restore(Slot slot, uint64_t serial) = 0;

  // Stores a batch. After OK it survives what the storage's mode promises to survive. On an error
  // none of it is stored: ResourceExhausted if the disk is full. A later call may succeed.
  virtual absl::Status Commit(const StorageBatch& batch) = 0;

  // Makes the batch that Commit has just stored readable and drops the bytes that it replaced.
  virtual void Publish(const StorageBatch& batch) = 0;

  // Compacts the storage if that is worth it. Call between two batches. Returns items that were
  // found to be damaged. Errors show in trouble() only.
  virtual std::vector<LostItem> Tidy() = 0;

  // Frees the slot of an item. Its bytes on disk are released by the batch with its eviction.
  virtual void Remove(Slot slot) = 0;

  // Returns the bytes of slots in use, in the order of `slots`.
  virtual std::vector<StoredBytes> Get(absl::Span<const Slot> slots) = 0;

  // Waits until the disk has all batches that Commit has stored. A storage in memory does nothing.
  virtual absl::Status Sync() = 0;

  // The bytes of all files, measured at most once a second when something is stored; 0 for a
  // storage in memory.
  virtual uint64_t bytes_on_disk() const = 0;

  // The bytes of items that are held in memory.
  virtual uint64_t bytes_in_memory() const = 0;

  // Makes a consistent copy in a new folder, and removes older copies that are too many. On an
  // error no copy is made or removed. FailedPrecondition for a storage in memory. Thread-safe;
  // inserts go on meanwhile.
  virtual absl::StatusOr<ShardCopy> Checkpoint() = 0;

  // Why the last Commit or Tidy failed, or the text of hang(); empty if nothing is wrong.
  virtual std::string trouble() const = 0;

  // Says for how long the disk has not answered, once that is too long; empty if it answers. This
  // function, trouble(), bytes_on_disk() and bytes_in_memory() do not wait for the disk.
  virtual std::string hang() const = 0;
};

// Keeps items in memory, which are lost with the process. Thread-safe.
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
  absl::Status Sync() override { return absl::OkStatus(); }
  uint64_t bytes_on_disk() const override { return 0; }
  uint64_t bytes_in_memory() const override;
  absl::StatusOr<ShardCopy> Checkpoint() override;
  std::string trouble() const override { return {}; }
  std::string hang() const override { return {}; }

 private:
  mutable absl::Mutex mutex_;
  SlotArray<grpc::Slice> items_ ABSL_GUARDED_BY(mutex_);  // by slot
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_STORAGE_H_
