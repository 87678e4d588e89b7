// The items of a shard: what is stored, what leaves, what is drawn.

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
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/best_games.h"
#include "replay/service/id_set.h"
#include "replay/service/item.h"
#include "replay/service/rate_limiter.h"
#include "replay/service/selector.h"
#include "replay/service/slot_array.h"
#include "replay/service/storage.h"

namespace mallocmuzero {

// The items of one InsertRequest and what became of them.
struct TableInsert {
  std::vector<Item> items;  // taken over
  bool replace = false;
  v1::InsertResponse response;  // may hold refusals already; `items` has the other items, in order
  std::vector<uint32_t> indices;  // in the request, of each item
};

// Thread-safe, but for Insert and Flush: one thread at a time.
class ReplayTable {
 public:
  // `config` is complete and has been checked (shard_config.h). Takes over what `storage` has from
  // earlier runs; should the bounds be tighter now, the items that leave first are evicted.
  static absl::StatusOr<std::unique_ptr<ReplayTable>> Open(const v1::ReplayShard& config,
                                                           std::unique_ptr<Storage> storage);

  // Stores all of them, or none and says why: then they are as they were and may be tried again.
  // What the bounds have no room for leaves.
  absl::Status Insert(absl::Span<TableInsert* const> inserts);

  // Whether an insert may begin while `pending` more positions are being inserted.
  bool MayInsert(uint64_t pending) const;

  // Stores priorities and counters that have changed, and evictions, as far as the storage keeps
  // them.
  absl::Status Flush();

  struct Drawn {
    LostItem source;  // for MarkLost
    StoredBytes bytes;
    std::vector<v1::SampleResponse::Draw> draws;
  };
  struct Draws {
    std::vector<Drawn> items;   // each once
    uint32_t count = 0;         // draws in all
    v1::SampleResponse answer;  // but for `drawn`
  };
  // Up to `count` draws, fewer if the limiter (unless `unlimited`) or about `max_bytes` of items
  // allow no more; none if nothing may be drawn now.
  Draws Draw(v1::Selection selection, uint32_t count, size_t max_bytes, bool unlimited);

  // The bytes of a drawn item are damaged: it leaves with the next Flush.
  void MarkLost(const LostItem& item);

  // Whether a draw may be made now.
  bool MayDraw(v1::Selection selection, bool unlimited) const;

  // Updates of positions that are still there. InvalidArgument, and no change, if a priority is
  // not finite or below 0.
  absl::StatusOr<uint32_t> UpdatePriorities(const v1::UpdatePrioritiesRequest& request);

  // InvalidArgument, and no change, for a limit that would block for ever.
  absl::Status SetRateLimit(const v1::RateLimit& limit);

  // Of items, counters and limiter; what the service knows is left out.
  v1::ReplayStats Stats() const;

  // See IdSet::List.
  void ListIds(size_t part, std::vector<ItemId>& stored, std::vector<ItemId>& evicted) const;

  // Does not hold up inserts.
  absl::StatusOr<std::string> Checkpoint() { return storage_->Checkpoint(); }

  // What Open found that an operator should know, a line each.
  const std::vector<std::string>& notes() const { return notes_; }

  // Whether items outlive the process. If so, Insert and StoredBytes::Load may wait for the disk.
  bool on_disk() const { return storage_->on_disk(); }
  bool synced() const { return config_.mode() == v1::ReplayShard::DURABLE_SYNC; }
  const Storage& storage() const { return *storage_; }

 private:
  // Programs are named by many items: kept once.
  using Programs = absl::node_hash_map<std::string, uint64_t>;  // SHA-256, items

  struct Record {
    ItemId id = {};
    uint64_t serial = 0;  // 0: a free slot
    uint64_t bytes = 0;
    const Programs::value_type* program = nullptr;
    double total_return = 0;
    double rank = 0;  // of RankKey
    uint32_t positions = 0;
    bool is_best = false;
    bool is_lost = false;                // it is in lost_
    bool has_new_priorities = false;     // since the last Flush
    bool has_stored_priorities = false;  // in the storage
  };

  // The order in which items leave: lowest first.
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
  static void Undo(Plan& plan);
  void Apply(const Plan& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
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
  // Fills in all of `draws`; there must be something to draw.
  void DrawTogether(v1::Selection selection, absl::Span<SlotDraw> draws)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  uint64_t Available(v1::Selection selection, bool unlimited) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void NotePriorities(Slot slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeChanges(bool with_priorities, StorageBatch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const v1::ReplayShard config_;
  const std::unique_ptr<Storage> storage_;
  std::vector<std::string> notes_;  // of Open

  mutable absl::Mutex mutex_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
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

  // Its counts of positions are the limiter's.
  ShardCounters counters_ ABSL_GUARDED_BY(mutex_);

  // Not yet in the storage.
  std::vector<StorageBatch::Eviction> new_evictions_ ABSL_GUARDED_BY(mutex_);
  std::vector<Slot> new_priorities_ ABSL_GUARDED_BY(mutex_);

  // Not yet evicted: while an insert is being stored, nothing else may leave.
  std::vector<LostItem> lost_ ABSL_GUARDED_BY(mutex_);
  bool counters_changed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_REPLAY_TABLE_H_
