#include "replay/service/selector.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/types/span.h"
#include "replay/priority.h"
#include "replay/service/slot.h"

namespace mallocmuzero {
namespace {

constexpr size_t kFirstSize = 1024;

double Clamped(double priority) { return std::clamp(priority, kLeastPriority, kHighestPriority); }

}  // namespace

Selector::Selector(double exponent)
    : exponent_(exponent), weights_(kFirstSize), counts_(kFirstSize) {}

float Selector::WeightOf(double priority) const {
  return static_cast<float>(std::pow(priority, exponent_));
}

void Selector::MakeRoom(Slot slot) {
  items_.Include(slot);
  if (slot < weights_.size()) return;
  const size_t size = std::max<size_t>(slot + 1, 2 * weights_.size());
  weights_.Grow(size);
  counts_.Grow(size);
}

// Sums the weights anew, in the order in which a draw scans them, so that the scan's partial sums
// end exactly at the tree's weight.
void Selector::UpdateWeight(Slot slot) {
  double sum = 0;
  for (const Position& position : items_[slot]) sum += position.weight;
  weights_.Set(slot, sum);
}

void Selector::Add(Slot slot, absl::Span<const float> priorities) {
  MakeRoom(slot);
  Positions& item = items_[slot];
  assert(item.empty() && !priorities.empty());
  item.reserve(priorities.size());
  for (const float priority : priorities) {
    const double clamped = Clamped(priority);
    item.push_back({static_cast<float>(clamped), WeightOf(clamped)});
  }
  positions_ += item.size();
  counts_.Set(slot, static_cast<double>(item.size()));
  UpdateWeight(slot);
}

void Selector::AddNew(Slot slot, uint32_t positions) {
  MakeRoom(slot);
  Positions& item = items_[slot];
  assert(item.empty() && positions > 0);
  item.assign(positions, {static_cast<float>(highest_), WeightOf(highest_)});
  positions_ += positions;
  counts_.Set(slot, positions);
  UpdateWeight(slot);
}

void Selector::Remove(Slot slot) {
  Positions& item = items_[slot];
  positions_ -= item.size();
  item.clear();
  item.shrink_to_fit();
  weights_.Set(slot, 0);
  counts_.Set(slot, 0);
}

void Selector::SetPriority(Slot slot, uint32_t position, double priority) {
  const double clamped = Clamped(priority);
  items_[slot][position] = {static_cast<float>(clamped), WeightOf(clamped)};
  highest_ = Clamped(HighestOfLate(highest_, clamped));
}

void Selector::set_highest_priority(double priority) { highest_ = Clamped(priority); }

double Selector::MeanPriority(Slot slot) const {
  double sum = 0;
  for (const Position& position : items_[slot]) sum += position.priority;
  return sum / static_cast<double>(items_[slot].size());
}

std::vector<float> Selector::Priorities(Slot slot) const {
  std::vector<float> priorities;
  priorities.reserve(items_[slot].size());
  for (const Position& position : items_[slot]) priorities.push_back(position.priority);
  return priorities;
}

void Selector::DrawSlots(const SumTree& tree, std::mt19937_64& random,
                         absl::Span<SlotDraw> draws) const {
  std::uniform_real_distribution<double> anywhere(0, tree.total());
  std::vector<double> points(draws.size());
  std::vector<size_t> slots(draws.size());
  for (double& point : points) point = anywhere(random);
  tree.Find(absl::MakeSpan(points), absl::MakeSpan(slots));
  for (size_t i = 0; i < draws.size(); ++i) {
    draws[i].slot = static_cast<Slot>(slots[i]);
    items_.Prefetch(draws[i].slot);
  }
  for (const SlotDraw& draw : draws) __builtin_prefetch(items_[draw.slot].data());
}

void Selector::DrawPrioritized(std::mt19937_64& random, absl::Span<SlotDraw> draws) const {
  DrawSlots(weights_, random, draws);
  for (SlotDraw& draw : draws) {
    // A fresh random point within the item: the rest of the tree's point has lost precision by its
    // subtractions.
    double point = std::uniform_real_distribution<double>(0, weights_.weight(draw.slot))(random);
    const Positions& item = items_[draw.slot];
    size_t position = 0;
    while (position + 1 < item.size() && point >= item[position].weight) {
      point -= item[position++].weight;
    }
    draw.position = position;
    draw.probability = item[position].weight / weights_.total();
  }
}

void Selector::DrawUniform(std::mt19937_64& random, absl::Span<SlotDraw> draws) const {
  DrawSlots(counts_, random, draws);
  for (SlotDraw& draw : draws) {
    const size_t last = items_[draw.slot].size() - 1;
    draw.position = std::uniform_int_distribution<size_t>(0, last)(random);
    draw.probability = 1 / counts_.total();
  }
}

}  // namespace mallocmuzero
