// A cache of the items that were used last.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_ITEM_CACHE_H_
#define MALLOCMUZERO_REPLAY_SERVICE_ITEM_CACHE_H_

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <list>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "replay/service/slot.h"

namespace mallocmuzero {

// Holds at most `max_bytes`; the least recently used items leave first. Not thread-safe.
class ItemCache {
 public:
  explicit ItemCache(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  // Adds or replaces an item as the one used last. An item larger than the cache is not kept.
  void Put(Slot slot, const grpc::Slice& wire) {
    Remove(slot);
    items_.push_front({slot, wire});
    places_[slot] = items_.begin();
    bytes_ += wire.size();
    while (bytes_ > max_bytes_) Remove(items_.back().slot);
  }

  // Returns the item's bytes, valid until the next change, or null if the cache does not have them.
  const grpc::Slice* Find(Slot slot) {
    const auto found = places_.find(slot);
    if (found == places_.end()) return nullptr;
    items_.splice(items_.begin(), items_, found->second);
    return &found->second->wire;
  }

  void Remove(Slot slot) {
    const auto found = places_.find(slot);
    if (found == places_.end()) return;
    bytes_ -= found->second->wire.size();
    items_.erase(found->second);
    places_.erase(found);
  }

  uint64_t bytes() const { return bytes_; }

 private:
  struct Cached {
    Slot slot;
    grpc::Slice wire;
  };
  const uint64_t max_bytes_;
  uint64_t bytes_ = 0;
  std::list<Cached> items_;  // last used first
  absl::flat_hash_map<Slot, std::list<Cached>::iterator> places_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_ITEM_CACHE_H_
