#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/priority.h"
#include "replay/service/rate_limiter.h"
#include "replay/service/replay_table.h"
#include "replay/service/selector.h"
#include "replay/service/slot.h"
#include "replay/wire/item.h"

namespace mallocmuzero {

bool ReplayTable::MayInsert(uint64_t pending) const {
  const absl::MutexLock lock(&mutex_);
  return limiter_.MayInsert(selector_.positions(), pending);
}

uint64_t ReplayTable::Available(v1::Selection selection, bool unlimited) const {
  const uint64_t choices = selection == v1::BEST ? best_.positions() : selector_.positions();
  if (choices == 0) return 0;
  return unlimited ? UINT64_MAX : limiter_.MayDraw(selector_.positions());
}

bool ReplayTable::MayDraw(v1::Selection selection, bool unlimited) const {
  const absl::MutexLock lock(&mutex_);
  return Available(selection, unlimited) > 0;
}

ReplayTable::Draws ReplayTable::Draw(v1::Selection selection, uint32_t count, size_t max_bytes,
                                     bool unlimited) {
  constexpr uint64_t kTogether = 64;
  Draws draws;
  absl::flat_hash_map<Slot, size_t> drawn;  // index in draws.items, by slot
  std::vector<Slot> slots;                  // the slots of draws.items
  std::vector<SlotDraw> batch;
  size_t bytes = 0;
  const absl::MutexLock lock(&mutex_);
  draws.answer.set_selection(selection);
  draws.answer.set_positions(selection == v1::BEST ? best_.positions() : selector_.positions());
  draws.answer.set_total_weight(selector_.total_weight());
  const uint64_t available = std::min<uint64_t>(count, Available(selection, unlimited));
  const auto has_room = [&] { return draws.count == 0 || bytes < max_bytes; };
  while (draws.count < available && has_room()) {
    batch.resize(std::min(kTogether, available - draws.count));
    DrawTogether(selection, absl::MakeSpan(batch));
    for (const SlotDraw& draw : batch) {
      if (!has_room()) break;
      const auto [place, is_new] = drawn.try_emplace(draw.slot, draws.items.size());
      if (is_new) {
        draws.items.emplace_back().source = {draw.slot, records_[draw.slot].serial};
        slots.push_back(draw.slot);
        bytes += records_[draw.slot].bytes;
      }
      v1::SampleResponse::Draw& answer = draws.items[place->second].draws.emplace_back();
      answer.set_position(draw.position);
      answer.set_probability(draw.probability);
      ++draws.count;
    }
  }
  std::vector<StoredBytes> stored = storage_->Get(slots);
  for (size_t i = 0; i < slots.size(); ++i) draws.items[i].bytes = std::move(stored[i]);
  if (!unlimited) limiter_.CountDrawn(draws.count);
  return draws;
}

void ReplayTable::CountUndelivered(uint64_t draws) {
  const absl::MutexLock lock(&mutex_);
  limiter_.CountUndelivered(draws);
}

void ReplayTable::NoteUnreadable(const SlotItem& item, const absl::Status& why) {
  const absl::MutexLock lock(&mutex_);
  if (!absl::IsDataLoss(why)) return unreadable_.AddFailedRead(why.message());
  Record& record = records_[item.slot];
  if (record.serial == item.serial && NoteDamage(record, why.message())) {
    lost_.push_back({item, std::string(why.message())});
  }
}

bool ReplayTable::NoteDamage(Record& record, absl::string_view why) {
  if (std::exchange(record.is_lost, true)) return false;
  unreadable_.AddDamaged(record.id, why);
  return true;
}

std::vector<std::string> ReplayTable::TakeWarnings() {
  const absl::MutexLock lock(&mutex_);
  return unreadable_.TakeWarnings();
}

void ReplayTable::SeedDraws() {
  const std::string hash = Sha256(absl::StrCat(config_.name(), "/", limiter_.drawn()));
  uint64_t seed = 0;
  std::memcpy(&seed, hash.data(), sizeof(seed));
  random_.seed(seed);
}

void ReplayTable::DrawTogether(v1::Selection selection, absl::Span<SlotDraw> draws) {
  if (selection == v1::PRIORITIZED) {
    selector_.DrawPrioritized(random_, draws);
  } else if (selection == v1::UNIFORM) {
    selector_.DrawUniform(random_, draws);
  } else {
    for (SlotDraw& draw : draws) draw = best_.Draw(random_);
  }
  for (const SlotDraw& draw : draws) records_.Prefetch(draw.slot);
}

absl::StatusOr<uint32_t> ReplayTable::UpdatePriorities(const v1::UpdatePrioritiesRequest& request) {
  for (const v1::UpdatePrioritiesRequest::Update& update : request.updates()) {
    if (!IsPriority(update.priority())) {
      return absl::InvalidArgumentError(absl::StrCat("updates: priority: ", update.priority(),
                                                     ", must be finite and not below 0"));
    }
  }
  uint32_t updated = 0;
  std::vector<Slot> slots;
  const absl::MutexLock lock(&mutex_);
  for (const v1::UpdatePrioritiesRequest::Update& update : request.updates()) {
    if (update.id().size() != kItemIdBytes) continue;
    ItemId id;
    std::memcpy(id.data(), update.id().data(), kItemIdBytes);
    const IdSet::Found found = ids_.Find(id);
    if (found.state != IdSet::State::kStored) continue;
    if (update.position() >= records_[found.slot].positions) continue;
    selector_.SetPriority(found.slot, update.position(), update.priority());
    slots.push_back(found.slot);
    NotePriorities(found.slot);
    ++updated;
  }
  // Weight and rank go through all positions of an item, so they are made anew once for each item.
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  for (const Slot slot : slots) {
    selector_.UpdateWeight(slot);
    if (config_.eviction() == v1::ReplayShard::LEAST_VALUED_FIRST) SetRank(slot);
  }
  return updated;
}

absl::Status ReplayTable::SetRateLimit(const v1::RateLimit& limit) {
  MMZ_RETURN_IF_ERROR(RateLimiter::Check(limit, config_.max_positions()));
  const absl::MutexLock lock(&mutex_);
  limiter_.SetLimit(limit);
  return absl::OkStatus();
}

void ReplayTable::RestoreLimiter() {
  const v1::RateLimit& before = counters_.rate_limit.value_or(config_.rate_limit());
  limiter_ = RateLimiter(before, counters_.inserted_positions, counters_.drawn_positions,
                         counters_.limiter_offset);
  limiter_.SetLimit(config_.rate_limit());
}

v1::ReplayStats ReplayTable::Stats() const {
  v1::ReplayStats stats;
  stats.set_bytes_on_disk(storage_->bytes_on_disk());
  const absl::MutexLock lock(&mutex_);
  stats.set_items(leave_first_.size() + leave_last_.size());
  stats.set_positions(selector_.positions());
  stats.set_bytes(bytes_);
  stats.set_inserted_items(counters_.inserted_items);
  stats.set_inserted_positions(limiter_.inserted());
  stats.set_duplicate_items(counters_.duplicate_items);
  stats.set_evicted_items(counters_.evicted_items);
  stats.set_unreadable_items(unreadable_.count());
  stats.set_remembered_ids(ids_.evicted());
  stats.set_ids_forgotten_early(ids_.forgotten_early());
  stats.set_drawn_positions(limiter_.drawn());
  *stats.mutable_rate_limit() = limiter_.limit();
  stats.set_limiter_error(limiter_.error());
  stats.set_total_weight(selector_.total_weight());
  return stats;
}

void ReplayTable::ListIds(size_t part, std::vector<ItemId>& stored,
                          std::vector<ItemId>& evicted) const {
  const absl::MutexLock lock(&mutex_);
  ids_.List(part, stored, evicted);
}

}  // namespace mallocmuzero
