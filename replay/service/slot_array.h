// What a shard knows of each slot.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_SLOT_ARRAY_H_
#define MALLOCMUZERO_REPLAY_SERVICE_SLOT_ARRAY_H_

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "replay/service/item.h"

namespace mallocmuzero {

// Grows without moving what is there, as std::deque does, in parts so large that the table of parts
// stays in the processor's cache. Not thread-safe.
template <typename T>
class SlotArray {
 public:
  size_t size() const { return size_; }

  // Slots up to this one are there from now on.
  void Include(Slot slot) {
    if (slot < size_) return;
    size_ = slot + 1;
    while (parts_.size() * kPart < size_) parts_.push_back(std::make_unique<Part>());
  }

  T& operator[](Slot slot) { return (*parts_[slot / kPart])[slot % kPart]; }
  const T& operator[](Slot slot) const { return (*parts_[slot / kPart])[slot % kPart]; }

  // Has the slot's first bytes brought to the processor's cache.
  void Prefetch(Slot slot) const { __builtin_prefetch(&(*this)[slot]); }

 private:
  static constexpr size_t kPart = 4096;
  using Part = std::array<T, kPart>;

  size_t size_ = 0;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SLOT_ARRAY_H_
