// The items of a shard: stores, evicts and draws them.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_REPLAY_TABLE_H_
#define MALLOCMUZERO_REPLAY_SERVICE_REPLAY_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/best_games.h"
#include "replay/service/id_set.h"
#include "replay/service/rate_limiter.h"
#include "replay/service/selector.h"
#include "replay/service/slot.h"
#include "replay/service/slot_array.h"
#include "replay/service/storage.h"
#include "replay/service/unreadable_items.h"
#include "replay/wire/item.h"

namespace mallocmuzero {

// The items of one InsertRequest and the answer to it.
struct TableInsert {
  std::vector<Item> items;  // Insert moves from them
  bool replace = false;

  // The items come from another shard. The rate limiter does not count them.
  bool moved = false;
  std::vector<std::vector<float>> priorities;  // of each moved item; may be empty
  std::vector<ItemId> evicted;                 // ids that the other shard has evicted

  // Whether the rate limiter may hold the items back.
  bool is_limited() const { return !replace && !moved; }

  v1::InsertResponse response;  // may hold refusals already; `items` has the other items, in order
  std::vector<uint32_t> indices;  // the index in the request of each of `items`
};

// Thread-safe, except that only one thread at a time may call Insert or Flush.
class ReplayTable {
 public:
  // `config` must be complete, as CheckShardConfig says. Takes over the items of earlier runs from
  // `storage`. If the bounds are tighter than they were, the items that leave first are evicted.
  // Returns the errors of the storage.
  static absl::StatusOr<std::unique_ptr<ReplayTable>> Open(const v1::ReplayShard& config,
                                                           std::unique_ptr<Storage> storage);

  // Stores the items of all `inserts` and fills in their responses, or stores none and returns the
  // storage's error: ResourceExhausted if the disk is full. Then evicts items until the bounds
  // hold. After an error the inserts are unchanged and may be tried again. May wait for the disk if
  // on_disk().
  absl::Status Insert(absl::Span<TableInsert* const> inserts);

  // Whether the rate limiter admits an insert while `pending` more positions are being inserted.
  bool MayInsert(uint64_t pending) const;

  // Stores changed priorities, counters and evictions if the storage is on disk. After an error
  // they are stored by the next call.
  absl::Status Flush();

  struct Drawn {
    SlotItem source;  // pass it to NoteUnreadable if `bytes` cannot be loaded
    StoredBytes bytes;
    std::vector<v1::SampleResponse::Draw> draws;
  };
  struct Draws {
    std::vector<Drawn> items;   // each item once
    uint32_t count = 0;         // of draws
    v1::SampleResponse answer;  // all fields but `drawn`
  };
  // Makes up to `count` draws. Makes fewer, or none, if the rate limiter admits no more (which
  // `unlimited` ignores), if there is nothing to draw, or once the items have about `max_bytes`.
  Draws Draw(v1::Selection selection, uint32_t count, size_t max_bytes, bool unlimited);

  // Takes draws that no client got off the rate limiter's count.
  void CountUndelivered(uint64_t draws);

  // The slots of all items, oldest first.
  std::vector<Slot> SlotsByAge() const;

  // An item as another shard takes it over.
  struct Exported {
    StoredBytes bytes;
    std::vector<float> priorities;
    double total_return = 0;  // the bytes of a replacement may have another one
  };
  // Returns the item in a slot. The table must take no inserts any more.
  Exported Export(Slot slot) const;

  // Stores priorities, counters and evictions, and waits until the disk has everything. The rules
  // of Flush hold.
  absl::Status Sync();

  // Tells that the bytes of a drawn item could not be loaded. If they are damaged (DataLoss), the
  // item leaves with the next Flush. Otherwise it stays: a later read may succeed.
  void NoteUnreadable(const SlotItem& item, const absl::Status& why);

  // Lines for the log about items that could not be read since the last call. Draws and Insert and
  // Flush, which move items, find them.
  std::vector<std::string> TakeWarnings();

  // Whether Draw would make a draw now.
  bool MayDraw(v1::Selection selection, bool unlimited) const;

  // Sets the priorities of positions that are still stored and returns their number.
  // InvalidArgument, and no change, if a priority is negative or not finite.
  absl::StatusOr<uint32_t> UpdatePriorities(const v1::UpdatePrioritiesRequest& request);

  // See RateLimiter::SetLimit. InvalidArgument, and no change, for a limit that RateLimiter::Check
  // refuses.
  absl::Status SetRateLimit(const v1::RateLimit& limit);

  // Statistics of items, counters and limiter. The fields about streams are left 0.
  v1::ReplayStats Stats() const;

  // See IdSet::List, which this calls under the lock.
  void ListIds(size_t part, std::vector<ItemId>& stored, std::vector<ItemId>& evicted) const;

  // Makes a consistent copy and returns its path; see Storage::Checkpoint. May wait for the disk;
  // inserts go on meanwhile.
  absl::StatusOr<ShardCopy> Checkpoint() { return storage_->Checkpoint(); }

  // Facts that Open found and an operator should know, a line each.
  const std::vector<std::string>& notes() const { return notes_; }

  // Whether items survive the process. If so, Insert, Flush and StoredBytes::Load may wait for the
  // disk.
  bool on_disk() const { return storage_->on_disk(); }
  bool synced() const { return config_.mode() == v1::ReplayShard::DURABLE_SYNC; }
  const Storage& storage() const { return *storage_; }

 private:
  // The number of items of each program, by SHA-256. Records point to the key, which is kept once.
  using Programs = absl::node_hash_map<std::string, uint64_t>;

  struct Record {
    ItemId id = {};
    uint64_t serial = 0;  // 0: a free slot
    uint64_t bytes = 0;
    const Programs::value_type* program = nullptr;
    double total_return = 0;
    double rank = 0;  // see RankKey
    uint32_t positions = 0;
    bool is_best = false;
    bool is_lost = false;                // its damage is noted
    bool has_new_priorities = false;     // priorities have changed since the last Flush
    bool has_stored_priorities = false;  // the storage may have priorities of the item
  };

  // The order in which items leave, lowest first.
  struct RankKey {
    double rank = 0;
    uint64_t serial = 0;
    Slot slot = 0;
    auto operator<=>(const RankKey&) const = default;
  };
  struct Plan;

  ReplayTable(const v1::ReplayShard& config, std::unique_ptr<Storage> storage);

  absl::Status Recover();
  void TakeNotes(const RecoveredShard& shard);
  void PlanInsert(TableInsert& insert, Plan& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PlanNew(TableInsert& insert, size_t index, Plan& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PlanReplacement(TableInsert& insert, size_t index, Plan& plan)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tidy();
  void EvictLost(absl::Span<const LostItem> lost) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns false if the item was noted before.
  bool NoteDamage(Record& record, absl::string_view why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Undo(Plan& plan);
  void Apply(const Plan& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RememberEvicted(absl::Span<const ItemId> ids, int64_t now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddRecord(Slot slot, uint64_t serial, const ItemMetadata& metadata, uint64_t bytes,
                 absl::Span<const float> priorities) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MakeRoom(int64_t now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Evict(Slot slot, int64_t now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Slot TakeSlot() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetRank(Slot slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MarkBest(Slot slot, bool is_best) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::btree_set<RankKey>& LeavingOrder(const Record& record)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return record.is_best ? leave_last_ : leave_first_;
  }
  // Continues the limiter of earlier runs by the counters, with the configured limit.
  void RestoreLimiter() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Begins random numbers of this shard's own: other shards draw other ones, and so does this shard
  // after a restart.
  void SeedDraws() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fills in all of `draws`. There must be something to draw.
  void DrawTogether(v1::Selection selection, absl::Span<SlotDraw> draws)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  uint64_t Available(v1::Selection selection, bool unlimited) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void NotePriorities(Slot slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeChanges(bool with_priorities, StorageBatch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const v1::ReplayShard config_;
  const std::unique_ptr<Storage> storage_;
  std::vector<std::string> notes_;  // set by Open

  mutable absl::Mutex mutex_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);  // see SeedDraws
  Selector selector_ ABSL_GUARDED_BY(mutex_);
  BestGames best_ ABSL_GUARDED_BY(mutex_);
  RateLimiter limiter_ ABSL_GUARDED_BY(mutex_);
  IdSet ids_ ABSL_GUARDED_BY(mutex_);
  Programs programs_ ABSL_GUARDED_BY(mutex_);
  SlotArray<Record> records_ ABSL_GUARDED_BY(mutex_);  // by slot
  std::vector<Slot> free_slots_ ABSL_GUARDED_BY(mutex_);
  absl::btree_set<RankKey> leave_first_ ABSL_GUARDED_BY(mutex_);
  absl::btree_set<RankKey> leave_last_ ABSL_GUARDED_BY(mutex_);  // best games
  uint64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;

  // Counts of positions are kept by the limiter and copied here when the counters are stored.
  ShardCounters counters_ ABSL_GUARDED_BY(mutex_);

  // Changes that are not yet in the storage.
  std::vector<StorageBatch::Eviction> new_evictions_ ABSL_GUARDED_BY(mutex_);
  std::vector<Slot> new_priorities_ ABSL_GUARDED_BY(mutex_);

  // Damaged items that were not evicted yet, because no item may leave while an insert is being
  // stored.
  std::vector<LostItem> lost_ ABSL_GUARDED_BY(mutex_);
  UnreadableItems unreadable_ ABSL_GUARDED_BY(mutex_);
  bool counters_changed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_REPLAY_TABLE_H_
