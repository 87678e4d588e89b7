// An array indexed by the slots of a shard.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_SLOT_ARRAY_H_
#define MALLOCMUZERO_REPLAY_SERVICE_SLOT_ARRAY_H_

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "replay/service/slot.h"

namespace mallocmuzero {

// Grows without moving its elements, like std::deque. Its parts are so large that the table of
// parts stays in the processor's cache. Not thread-safe.
template <typename T>
class SlotArray {
 public:
  size_t size() const { return size_; }

  // Grows the array so that it includes this slot; new elements are value-initialized.
  void Include(Slot slot) {
    if (slot < size_) return;
    size_ = slot + 1;
    while (parts_.size() * kPart < size_) parts_.push_back(std::make_unique<Part>());
  }

  T& operator[](Slot slot) { return (*parts_[slot / kPart])[slot % kPart]; }
  const T& operator[](Slot slot) const { return (*parts_[slot / kPart])[slot % kPart]; }

  // Fetches the first bytes of the slot's element into the processor's cache.
  void Prefetch(Slot slot) const { __builtin_prefetch(&(*this)[slot]); }

 private:
  static constexpr size_t kPart = 4096;
  using Part = std::array<T, kPart>;

  size_t size_ = 0;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SLOT_ARRAY_H_
