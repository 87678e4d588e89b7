#include "replay/service/id_set.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "replay/wire/item.h"

namespace mallocmuzero {

IdSet::Found IdSet::Find(const ItemId& id) const {
  const Part& part = parts_[PartIndex(id)];
  const auto found = part.find(id);
  if (found == part.end()) return {};
  if (found->second == kEvictedSlot) return {.state = State::kEvicted};
  return {.state = State::kStored, .slot = found->second};
}

int64_t IdSet::Evict(const ItemId& id, int64_t forget_at) {
  if (!tombstones_.empty()) forget_at = std::max(forget_at, tombstones_.back().forget_at);
  PartOf(id)[id] = kEvictedSlot;
  tombstones_.push_back({forget_at, id});
  while (tombstones_.size() > most_evicted_) {
    ++forgotten_early_;
    forgotten_until_ = tombstones_.front().forget_at;
    ForgetOldest();
  }
  return forget_at;
}

void IdSet::Forget(int64_t now) {
  while (!tombstones_.empty() && tombstones_.front().forget_at <= now) ForgetOldest();
}

void IdSet::ForgetOldest() {
  Part& part = PartOf(tombstones_.front().id);
  const auto found = part.find(tombstones_.front().id);
  if (found != part.end() && found->second == kEvictedSlot) part.erase(found);
  tombstones_.pop_front();
}

void IdSet::List(size_t part, std::vector<ItemId>& stored, std::vector<ItemId>& evicted) const {
  for (const auto& [id, slot] : parts_[part]) {
    (slot == kEvictedSlot ? evicted : stored).push_back(id);
  }
}

}  // namespace mallocmuzero
