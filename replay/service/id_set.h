// The ids of the items that a shard stores, and of evicted items that it still remembers.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_ID_SET_H_
#define MALLOCMUZERO_REPLAY_SERVICE_ID_SET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "replay/service/slot.h"
#include "replay/wire/item.h"

namespace mallocmuzero {

// Not thread-safe.
class IdSet {
 public:
  // The most bytes that one evicted id takes: its slot in a table that has just grown, and its
  // entry in the queue of ids to be forgotten.
  static constexpr size_t kBytesOfEvicted = 72;

  // Remembers at most `most_evicted` evicted ids and forgets the oldest first.
  explicit IdSet(size_t most_evicted = SIZE_MAX) : most_evicted_(most_evicted) {}

  enum class State : uint8_t { kUnknown, kStored, kEvicted };

  struct Found {
    State state = State::kUnknown;
    Slot slot = 0;  // of a stored item
  };
  Found Find(const ItemId& id) const;

  // Adds the id of an item that was stored in `slot`.
  void Add(const ItemId& id, Slot slot) { PartOf(id)[id] = slot; }

  // Remembers the id as evicted until `forget_at`, in Unix seconds, but not for less long than the
  // id before it, as after the clock was set back. Returns the time until which the id is
  // remembered.
  int64_t Evict(const ItemId& id, int64_t forget_at);

  // Drops evicted ids whose `forget_at` is not after `now`, in Unix seconds.
  void Forget(int64_t now);

  // The number of evicted ids that are remembered.
  size_t evicted() const { return tombstones_.size(); }

  // The number of ids that were forgotten before their time because there were too many, and the
  // latest time until which one of them was to be remembered, in Unix seconds.
  uint64_t forgotten_early() const { return forgotten_early_; }
  int64_t forgotten_until() const { return forgotten_until_; }

  // Appends the ids of one part, 0 to kParts - 1, to the two lists. An id stays in its part when it
  // is evicted, so listing the parts one after the other misses none.
  static constexpr size_t kParts = 256;
  void List(size_t part, std::vector<ItemId>& stored, std::vector<ItemId>& evicted) const;

 private:
  static constexpr Slot kEvictedSlot = UINT32_MAX;

  // Many small tables instead of a large one, because growing a large table takes long.
  using Part = absl::flat_hash_map<ItemId, Slot>;

  // Clients choose the ids, so a byte of the id itself might not spread them evenly.
  static size_t PartIndex(const ItemId& id) { return absl::HashOf(id, kParts) % kParts; }
  Part& PartOf(const ItemId& id) { return parts_[PartIndex(id)]; }

  struct Tombstone {
    int64_t forget_at;
    ItemId id;
  };
  void ForgetOldest();

  const size_t most_evicted_;
  uint64_t forgotten_early_ = 0;
  int64_t forgotten_until_ = 0;
  std::array<Part, kParts> parts_;
  std::deque<Tombstone> tombstones_;  // in ascending order of their times
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_ID_SET_H_
