#include "replay/service/replay_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/rate_limiter.h"
#include "replay/service/slot.h"
#include "replay/service/storage.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

int64_t UnixSeconds() { return absl::ToUnixSeconds(absl::Now()); }

void Refuse(TableInsert& insert, size_t index, std::string message) {
  v1::InsertResponse::Refusal& refusal = *insert.response.add_refusals();
  refusal.set_index(insert.indices[index]);
  refusal.set_message(std::move(message));
}

void Acknowledge(TableInsert& insert) {
  insert.response.set_acknowledged(insert.response.acknowledged() + 1);
}

}  // namespace

// The changes that one call of Insert makes once the storage has committed them.
struct ReplayTable::Plan {
  StorageBatch batch;
  absl::flat_hash_set<ItemId> ids;  // of new items
  std::vector<Slot> new_slots;
  uint64_t new_positions = 0;
  uint64_t duplicates = 0;

  // The origin of the item of each put, and the responses before this call, for Undo.
  struct Origin {
    TableInsert* insert = nullptr;
    size_t index = 0;
  };
  std::vector<Origin> origins;
  std::vector<std::pair<TableInsert*, v1::InsertResponse>> answers;
};

ReplayTable::ReplayTable(const v1::ReplayShard& config, std::unique_ptr<Storage> storage)
    : config_(config),
      storage_(std::move(storage)),
      selector_(config.priority_exponent()),
      best_(config.best_games()),
      limiter_(config.rate_limit()),
      ids_(config.remember_evicted_bytes() / IdSet::kBytesOfEvicted) {}

absl::StatusOr<std::unique_ptr<ReplayTable>> ReplayTable::Open(const v1::ReplayShard& config,
                                                               std::unique_ptr<Storage> storage) {
  std::unique_ptr<ReplayTable> table(new ReplayTable(config, std::move(storage)));
  MMZ_RETURN_IF_ERROR(table->Recover());
  return table;
}

absl::Status ReplayTable::Recover() {
  absl::StatusOr<RecoveredShard> shard = storage_->Recover();
  if (!shard.ok()) return shard.status();
  TakeNotes(*shard);
  const absl::MutexLock lock(&mutex_);
  counters_ = std::move(shard->counters);
  RestoreLimiter();
  SeedDraws();
  selector_.set_highest_priority(counters_.highest_priority);
  const int64_t now = UnixSeconds();
  // remember_evicted_seconds may have been longer, and the clock later, when the id was stored.
  const int64_t latest = now + config_.remember_evicted_seconds();
  for (const StorageBatch::Eviction& evicted : shard->evicted) {
    ids_.Evict(evicted.id, std::min(evicted.forget_at, latest));
  }
  for (const RecoveredItem& item : shard->items) {
    const Slot slot = TakeSlot();
    storage_->Restore(slot, item.serial);
    AddRecord(slot, item.serial, item.metadata, item.bytes, item.priorities);
    counters_.next_serial = std::max(counters_.next_serial, item.serial + 1);
  }
  MakeRoom(now);
  return absl::OkStatus();
}

void ReplayTable::TakeNotes(const RecoveredShard& shard) {
  if (shard.counters.next_serial > 1) {
    notes_.push_back(absl::StrCat("found ", shard.items.size(), " trajectories of earlier runs"));
  }
  if (shard.ids_left_out) {
    notes_.push_back(
        "remember_evicted_bytes: not all ids of evicted trajectories that are on the disk fit; the "
        "oldest are forgotten");
  }
  if (shard.lost_items > 0) {
    notes_.push_back(absl::StrCat(shard.lost_items,
                                  " trajectories are lost: their files are gone or cut short, as "
                                  "after a power cut without DURABLE_SYNC, or their records are "
                                  "damaged"));
  }
  const std::optional<v1::RateLimit>& before = shard.counters.rate_limit;
  if (before.has_value() &&
      before->SerializeAsString() != config_.rate_limit().SerializeAsString()) {
    notes_.push_back(absl::StrCat("rate_limit: {", before->ShortDebugString(),
                                  "} was in force before; the configuration's {",
                                  config_.rate_limit().ShortDebugString(), "} is now"));
  }
}

Slot ReplayTable::TakeSlot() {
  if (free_slots_.empty()) {
    const Slot slot = static_cast<Slot>(records_.size());
    records_.Include(slot);
    return slot;
  }
  const Slot slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

absl::Status ReplayTable::Insert(absl::Span<TableInsert* const> inserts) {
  Plan plan;
  {
    const absl::MutexLock lock(&mutex_);
    for (TableInsert* insert : inserts) {
      plan.answers.emplace_back(insert, insert->response);
      PlanInsert(*insert, plan);
    }
    TakeChanges(/*with_priorities=*/false, plan.batch);
    if (plan.batch.counters.has_value()) {
      plan.batch.counters->inserted_items += plan.new_slots.size();
      plan.batch.counters->inserted_positions += plan.new_positions;
      plan.batch.counters->duplicate_items += plan.duplicates;
    }
  }
  absl::Status status = storage_->Commit(plan.batch);
  if (status.ok()) {
    {
      const absl::MutexLock lock(&mutex_);
      Apply(plan);
    }
    Tidy();
    return absl::OkStatus();
  }
  Undo(plan);
  const absl::MutexLock lock(&mutex_);
  free_slots_.insert(free_slots_.end(), plan.new_slots.begin(), plan.new_slots.end());
  new_evictions_.insert(new_evictions_.begin(), plan.batch.evictions.begin(),
                        plan.batch.evictions.end());
  return status;
}

void ReplayTable::Undo(Plan& plan) {
  for (size_t i = 0; i < plan.origins.size(); ++i) {
    const Plan::Origin& origin = plan.origins[i];
    origin.insert->items[origin.index] = std::move(plan.batch.puts[i].item);
  }
  for (auto& [insert, response] : plan.answers) insert->response = std::move(response);
}

void ReplayTable::Tidy() {
  const std::vector<LostItem> lost = storage_->Tidy();
  if (lost.empty()) return;
  const absl::MutexLock lock(&mutex_);
  EvictLost(lost);
}

// Must not be called while an insert is being stored.
void ReplayTable::EvictLost(absl::Span<const LostItem> lost) {
  for (const auto& [item, why] : lost) {
    // The item may have left already, and another one may have its slot.
    if (records_[item.slot].serial != item.serial) continue;
    NoteDamage(records_[item.slot], why);
    Evict(item.slot, UnixSeconds());
  }
}

void ReplayTable::PlanInsert(TableInsert& insert, Plan& plan) {
  for (size_t i = 0; i < insert.items.size(); ++i) {
    const Item& item = insert.items[i];
    if (item.metadata.positions > config_.max_positions()) {
      Refuse(insert, i,
             absl::StrCat("positions: ", item.metadata.positions, ", must be at most ",
                          config_.max_positions(), ", all that the shard holds"));
    } else if (item.wire.size() > config_.max_bytes()) {
      Refuse(insert, i,
             absl::StrCat("payload: ", item.wire.size(), " bytes, must be at most ",
                          config_.max_bytes(), ", all that the shard holds"));
    } else if (insert.replace) {
      PlanReplacement(insert, i, plan);
    } else {
      PlanNew(insert, i, plan);
    }
  }
}

void ReplayTable::PlanNew(TableInsert& insert, size_t index, Plan& plan) {
  Item& item = insert.items[index];
  Acknowledge(insert);
  if (ids_.Find(item.metadata.id).state != IdSet::State::kUnknown ||
      !plan.ids.insert(item.metadata.id).second) {
    ++plan.duplicates;
    return;
  }
  const Slot slot = TakeSlot();
  plan.new_slots.push_back(slot);
  if (!insert.moved) plan.new_positions += item.metadata.own_positions;
  plan.batch.puts.push_back(
      {.slot = slot, .serial = counters_.next_serial++, .item = std::move(item)});
  plan.origins.push_back({&insert, index});
}

void ReplayTable::PlanReplacement(TableInsert& insert, size_t index, Plan& plan) {
  Item& item = insert.items[index];
  const IdSet::Found found = ids_.Find(item.metadata.id);
  if (found.state != IdSet::State::kStored) return Acknowledge(insert);
  const Record& record = records_[found.slot];
  if (record.positions != item.metadata.positions ||
      record.program->first != item.metadata.program_sha256) {
    return Refuse(insert, index,
                  absl::StrCat("positions and program_sha256: not those of the stored item, which "
                               "has ",
                               record.positions, " positions"));
  }
  Acknowledge(insert);
  // A replacement keeps the return, so that its place among the best games stays.
  item.metadata.total_return = record.total_return;
  plan.batch.puts.push_back({.slot = found.slot, .serial = record.serial, .item = std::move(item)});
  plan.origins.push_back({&insert, index});
}

void ReplayTable::Apply(const Plan& plan) {
  const int64_t now = UnixSeconds();
  ids_.Forget(now);
  storage_->Publish(plan.batch);
  for (size_t i = 0; i < plan.batch.puts.size(); ++i) {
    const StorageBatch::Put& put = plan.batch.puts[i];
    Record& record = records_[put.slot];
    const uint64_t bytes = put.item.wire.size();
    if (record.serial == put.serial) {
      bytes_ += bytes - record.bytes;
      record.bytes = bytes;
    } else {
      const Plan::Origin& origin = plan.origins[i];
      const bool has_priorities = origin.index < origin.insert->priorities.size();
      AddRecord(put.slot, put.serial, put.item.metadata, bytes,
                has_priorities ? origin.insert->priorities[origin.index] : std::vector<float>());
      if (has_priorities) NotePriorities(put.slot);
    }
  }
  for (const auto& [insert, response] : plan.answers) RememberEvicted(insert->evicted, now);
  counters_.inserted_items += plan.new_slots.size();
  counters_.duplicate_items += plan.duplicates;
  limiter_.CountInserted(plan.new_positions);
  counters_changed_ = true;  // MakeRoom counts evictions after the batch was stored
  MakeRoom(now);
}

void ReplayTable::AddRecord(Slot slot, uint64_t serial, const ItemMetadata& metadata,
                            uint64_t bytes, absl::Span<const float> priorities) {
  Programs::value_type& program = *programs_.try_emplace(metadata.program_sha256, 0).first;
  ++program.second;
  Record& record = records_[slot];
  record = {.id = metadata.id,
            .serial = serial,
            .bytes = bytes,
            .program = &program,
            .total_return = metadata.total_return,
            .positions = metadata.positions,
            .has_stored_priorities = !priorities.empty()};
  bytes_ += bytes;
  ids_.Add(metadata.id, slot);
  if (priorities.size() == metadata.positions) {
    selector_.Add(slot, priorities);
  } else {
    selector_.AddNew(slot, metadata.positions);
  }
  const BestGames::Added added =
      best_.Add(slot, program.first, metadata.total_return, metadata.positions);
  record.is_best = added.is_best;
  SetRank(slot);
  if (added.displaced.has_value()) MarkBest(*added.displaced, false);
}

void ReplayTable::SetRank(Slot slot) {
  Record& record = records_[slot];
  absl::btree_set<RankKey>& order = LeavingOrder(record);
  order.erase({record.rank, record.serial, slot});
  const bool by_value =
      config_.eviction() == v1::ReplayShard::LEAST_VALUED_FIRST && !record.is_best;
  record.rank = by_value ? selector_.MeanPriority(slot) : 0;
  order.insert({record.rank, record.serial, slot});
}

void ReplayTable::MarkBest(Slot slot, bool is_best) {
  Record& record = records_[slot];
  LeavingOrder(record).erase({record.rank, record.serial, slot});
  record.is_best = is_best;
  SetRank(slot);
}

void ReplayTable::MakeRoom(int64_t now) {
  while (selector_.positions() > config_.max_positions() || bytes_ > config_.max_bytes()) {
    const absl::btree_set<RankKey>& order = leave_first_.empty() ? leave_last_ : leave_first_;
    Evict(order.begin()->slot, now);
    ++counters_.evicted_items;
  }
}

void ReplayTable::Evict(Slot slot, int64_t now) {
  Record& record = records_[slot];
  LeavingOrder(record).erase({record.rank, record.serial, slot});
  if (record.is_best) best_.Remove(slot, record.program->first);
  selector_.Remove(slot);
  storage_->Remove(slot);
  const int64_t forget_at = ids_.Evict(record.id, now + config_.remember_evicted_seconds());
  if (storage_->on_disk()) {
    new_evictions_.push_back({.serial = record.serial,
                              .id = record.id,
                              .forget_at = forget_at,
                              .has_priorities = record.has_stored_priorities});
  }
  bytes_ -= record.bytes;
  const auto program = programs_.find(record.program->first);
  if (--program->second == 0) programs_.erase(program);
  record = {};
  free_slots_.push_back(slot);
}

// Notes that the item's priorities must be stored by the next Flush, if the storage is on disk.
void ReplayTable::NotePriorities(Slot slot) {
  if (!storage_->on_disk()) return;
  if (std::exchange(records_[slot].has_new_priorities, true)) return;
  new_priorities_.push_back(slot);
}

void ReplayTable::TakeChanges(bool with_priorities, StorageBatch& batch) {
  if (!storage_->on_disk()) return;
  counters_changed_ |= counters_.drawn_positions != limiter_.drawn();
  batch.evictions = std::exchange(new_evictions_, {});
  batch.forget_before = std::max(UnixSeconds(), ids_.forgotten_until());
  counters_.inserted_positions = limiter_.inserted();
  counters_.drawn_positions = limiter_.drawn();
  counters_.highest_priority = selector_.highest_priority();
  counters_.rate_limit = limiter_.limit();
  counters_.limiter_offset = limiter_.offset();
  // An insert always stores the counters, since it changes them.
  if (!with_priorities || std::exchange(counters_changed_, false)) batch.counters = counters_;
  if (!with_priorities) return;
  for (const Slot slot : std::exchange(new_priorities_, {})) {
    Record& record = records_[slot];
    if (!std::exchange(record.has_new_priorities, false)) continue;
    record.has_stored_priorities = true;
    batch.priorities.push_back(
        {.slot = slot, .serial = record.serial, .values = selector_.Priorities(slot)});
  }
}

absl::Status ReplayTable::Flush() {
  StorageBatch batch;
  {
    const absl::MutexLock lock(&mutex_);
    EvictLost(std::exchange(lost_, {}));
    TakeChanges(/*with_priorities=*/true, batch);
  }
  if (batch.empty()) return absl::OkStatus();
  absl::Status status = storage_->Commit(batch);
  if (status.ok()) {
    Tidy();
    return status;
  }
  const absl::MutexLock lock(&mutex_);
  new_evictions_.insert(new_evictions_.begin(), batch.evictions.begin(), batch.evictions.end());
  for (const StorageBatch::Priorities& item : batch.priorities) {
    if (records_[item.slot].serial == item.serial) NotePriorities(item.slot);
  }
  counters_changed_ = true;
  return status;
}

}  // namespace mallocmuzero
