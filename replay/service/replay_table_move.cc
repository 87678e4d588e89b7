// The functions of ReplayTable by which the items of a shard move to other shards.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "replay/service/id_set.h"
#include "replay/service/replay_table.h"
#include "replay/service/storage.h"
#include "replay/wire/item.h"

namespace mallocmuzero {

std::vector<Slot> ReplayTable::SlotsByAge() const {
  std::vector<std::pair<uint64_t, Slot>> order;
  const absl::MutexLock lock(&mutex_);
  for (Slot slot = 0; slot < records_.size(); ++slot) {
    if (records_[slot].serial != 0) order.emplace_back(records_[slot].serial, slot);
  }
  std::sort(order.begin(), order.end());
  std::vector<Slot> slots;
  slots.reserve(order.size());
  for (const auto& [serial, slot] : order) slots.push_back(slot);
  return slots;
}

ReplayTable::Exported ReplayTable::Export(Slot slot) const {
  const absl::MutexLock lock(&mutex_);
  return {.bytes = storage_->Get({&slot, 1}).front(),
          .priorities = selector_.Priorities(slot),
          .total_return = records_[slot].total_return};
}

absl::Status ReplayTable::Sync() {
  MMZ_RETURN_IF_ERROR(Flush());
  return storage_->Sync();
}

// Remembers ids that another shard has evicted as if this shard had evicted them.
void ReplayTable::RememberEvicted(absl::Span<const ItemId> ids, int64_t now) {
  for (const ItemId& id : ids) {
    if (ids_.Find(id).state != IdSet::State::kUnknown) continue;
    const int64_t forget_at = ids_.Evict(id, now + config_.remember_evicted_seconds());
    if (!storage_->on_disk()) continue;
    // No item has this serial.
    new_evictions_.push_back({.serial = counters_.next_serial++,
                              .id = id,
                              .forget_at = forget_at,
                              .has_priorities = false});
  }
}

}  // namespace mallocmuzero
