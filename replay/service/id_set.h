// Ids of the items a shard has, and of those it had and still remembers.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_ID_SET_H_
#define MALLOCMUZERO_REPLAY_SERVICE_ID_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "replay/service/item.h"

namespace mallocmuzero {

// Not thread-safe.
class IdSet {
 public:
  enum class State : uint8_t { kUnknown, kStored, kEvicted };

  struct Found {
    State state = State::kUnknown;
    Slot slot = 0;  // of a stored one
  };
  Found Find(const ItemId& id) const;

  void Add(const ItemId& id, Slot slot) { PartOf(id)[id] = slot; }

  // The id is remembered as evicted until `forget_at`, Unix seconds, which never descend.
  void Evict(const ItemId& id, int64_t forget_at);

  // Drops evicted ids whose time is not after `now`.
  void Forget(int64_t now);

  // The ids are listed a part at a time, 0 to kParts - 1. One that is evicted meanwhile stays in
  // its part.
  static constexpr size_t kParts = 256;
  void List(size_t part, std::vector<ItemId>& stored, std::vector<ItemId>& evicted) const;

 private:
  static constexpr Slot kEvictedSlot = UINT32_MAX;

  // Many small tables instead of a large one: none takes long to grow.
  using Part = absl::flat_hash_map<ItemId, Slot>;

  // Clients choose ids, so a byte of theirs would not spread them.
  static size_t PartIndex(const ItemId& id) { return absl::HashOf(id, kParts) % kParts; }
  Part& PartOf(const ItemId& id) { return parts_[PartIndex(id)]; }

  struct Tombstone {
    int64_t forget_at;
    ItemId id;
  };
  std::array<Part, kParts> parts_;
  std::deque<Tombstone> tombstones_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_ID_SET_H_
