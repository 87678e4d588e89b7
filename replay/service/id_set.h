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
  // Most memory of one evicted id: its slot in a table that has just grown, and its place in the
  // order in which ids are forgotten.
  static constexpr size_t kBytesOfEvicted = 72;

  // Remembers at most so many evicted ids; the oldest are forgotten first.
  explicit IdSet(size_t most_evicted = SIZE_MAX) : most_evicted_(most_evicted) {}

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

  // Evicted ids that are remembered; and how many were forgotten before their time as there were
  // too many, and the latest time that one of those was to be remembered until.
  size_t evicted() const { return tombstones_.size(); }
  uint64_t forgotten_early() const { return forgotten_early_; }
  int64_t forgotten_until() const { return forgotten_until_; }

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
  void ForgetOldest();

  const size_t most_evicted_;
  uint64_t forgotten_early_ = 0;
  int64_t forgotten_until_ = 0;
  std::array<Part, kParts> parts_;
  std::deque<Tombstone> tombstones_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_ID_SET_H_
