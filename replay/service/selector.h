// Which position a draw gives, and with what probability.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_SELECTOR_H_
#define MALLOCMUZERO_REPLAY_SERVICE_SELECTOR_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "replay/service/item.h"
#include "replay/service/slot_array.h"
#include "replay/sum_tree.h"

namespace mallocmuzero {

struct SlotDraw {
  Slot slot = 0;
  uint32_t position = 0;

  // With which this position was drawn, in one draw.
  double probability = 0;
};

// Priorities are clamped to this range: every position stays within reach of a draw, and sums stay
// finite.
inline constexpr double kLeastPriority = 1e-6;
inline constexpr double kHighestPriority = 1e9;

// Positions of items, drawn in proportion to priority ^ exponent or uniformly. A tree finds the
// item, a scan the position: O(log(items) + positions of one). Not thread-safe.
class Selector {
 public:
  // `exponent` is 0 to 4.
  explicit Selector(double exponent);

  // One priority for each position of the item, at least one; finite, not negative. The slot is
  // free.
  void Add(Slot slot, absl::Span<const float> priorities);

  // All `positions` get the highest priority of late.
  void AddNew(Slot slot, uint32_t positions);

  void Remove(Slot slot);

  // `position` is one of the item's; `priority` finite, not negative.
  void SetPriority(Slot slot, uint32_t position, double priority);

  double MeanPriority(Slot slot) const;
  std::vector<float> Priorities(Slot slot) const;
  double highest_priority() const { return highest_; }
  void set_highest_priority(double priority);  // finite, not negative

  uint64_t positions() const { return positions_; }
  double total_weight() const { return weights_.total(); }

  // Each of `draws` is drawn for itself, with replacement; together, since with many items the time
  // of a draw is that of cache misses, which then overlap. There is at least one position.
  void DrawPrioritized(std::mt19937_64& random, absl::Span<SlotDraw> draws) const;
  void DrawUniform(std::mt19937_64& random, absl::Span<SlotDraw> draws) const;

 private:
  struct Position {
    float priority;
    float weight;
  };
  // Most room without an allocation that a vector's size and pointer take anyway.
  using Positions = absl::InlinedVector<Position, 2>;

  float WeightOf(double priority) const;
  void MakeRoom(Slot slot);
  void UpdateTree(Slot slot);

  // Slots, in proportion to the tree's weights.
  void DrawSlots(const SumTree& tree, std::mt19937_64& random, absl::Span<SlotDraw> draws) const;

  double exponent_;
  double highest_ = 1;
  uint64_t positions_ = 0;
  SlotArray<Positions> items_;  // by slot; empty: a free slot
  SumTree weights_;             // by slot
  SumTree counts_;              // by slot: positions
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SELECTOR_H_
