// Draws positions of stored items and tells the probability of each draw.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_SELECTOR_H_
#define MALLOCMUZERO_REPLAY_SERVICE_SELECTOR_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "replay/service/slot.h"
#include "replay/service/slot_array.h"
#include "replay/sum_tree.h"

namespace mallocmuzero {

// A position of a stored item, as drawn.
struct SlotDraw {
  Slot slot = 0;
  uint32_t position = 0;

  // The probability that a single draw gives this position.
  double probability = 0;
};

// Priorities are clamped to this range, so that every position can be drawn and sums stay finite.
inline constexpr double kLeastPriority = 1e-6;
inline constexpr double kHighestPriority = 1e9;

// Draws positions in proportion to priority ^ exponent, or uniformly. A tree finds the item and a
// scan finds the position within it, in O(log(items) + positions of the item). Not thread-safe.
class Selector {
 public:
  // `exponent` must be 0 to 4.
  explicit Selector(double exponent);

  // Adds an item to a free slot. `priorities` has one value for each position, at least one, finite
  // and not negative.
  void Add(Slot slot, absl::Span<const float> priorities);

  // Adds an item whose positions, at least one, all get the recent highest priority
  // (replay/priority.h).
  void AddNew(Slot slot, uint32_t positions);

  // Removes an item and frees its slot.
  void Remove(Slot slot);

  // `position` must be one of the item's, and `priority` finite and not negative.
  // Call UpdateWeight for the slot before anything else: it sums all positions of the item, once
  // for all its new priorities.
  void SetPriority(Slot slot, uint32_t position, double priority);
  void UpdateWeight(Slot slot);

  // The mean of the item's priorities, and all of them. The slot must have an item.
  double MeanPriority(Slot slot) const;
  std::vector<float> Priorities(Slot slot) const;
  double highest_priority() const { return highest_; }
  void set_highest_priority(double priority);  // finite, not negative

  // The number of positions of all items, and the sum of their weights.
  uint64_t positions() const { return positions_; }
  double total_weight() const { return weights_.total(); }

  // Fill in `draws` with independent draws, with replacement. There must be at least one position.
  // Draws are made together so that their cache misses overlap, which dominate with many items.
  void DrawPrioritized(std::mt19937_64& random, absl::Span<SlotDraw> draws) const;
  void DrawUniform(std::mt19937_64& random, absl::Span<SlotDraw> draws) const;

 private:
  struct Position {
    float priority;
    float weight;
  };
  // Two positions fit inline: they take no more room than the pointer and size of a vector.
  using Positions = absl::InlinedVector<Position, 2>;

  float WeightOf(double priority) const;
  void MakeRoom(Slot slot);

  // Draws the slots of `draws` in proportion to the tree's weights.
  void DrawSlots(const SumTree& tree, std::mt19937_64& random, absl::Span<SlotDraw> draws) const;

  double exponent_;
  double highest_ = 1;
  uint64_t positions_ = 0;
  SlotArray<Positions> items_;  // by slot; empty for a free slot
  SumTree weights_;             // by slot: sums of the positions' weights
  SumTree counts_;              // by slot: numbers of positions
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SELECTOR_H_
