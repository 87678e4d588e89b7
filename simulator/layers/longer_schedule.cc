#include "simulator/layers/longer_schedule.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace mallocmuzero {
namespace {

// Neighbouring instructions of one layer whose distance to the next layer is the same. A region is
// the layer's forward pass, its backward pass, or its share of a group, such as the conversions of
// all weights.
struct Region {
  InstructionIndex first;  // of the layer
  InstructionIndex last;
  int32_t distance = 0;  // to the next layer; negative if the next layer comes first
};

std::vector<Region> FindRegions(const LayerMap& map, int32_t layer) {
  std::vector<Region> regions;
  for (const InstructionIndex i : map.RepeatableInstructions(layer)) {
    const LayerPlace place = map.instructions[i];
    const int32_t distance = map.instruction_chains[place.chain].At(layer + 1) - i;
    if (!regions.empty() && regions.back().distance == distance &&
        i - regions.back().last < std::abs(distance)) {
      regions.back().last = i;
    } else {
      regions.push_back({.first = i, .last = i, .distance = distance});
    }
  }
  return regions;
}

// A region makes room for its copies: what is behind them moves back by `count` distances.
class Spreader {
 public:
  Spreader(const LayerMap& map, int32_t layer, int32_t count)
      : map_(map), layer_(layer), count_(count), regions_(FindRegions(map, layer)) {}

  // Where an instruction of the program moves.
  int64_t PositionOf(InstructionIndex i) const {
    int64_t position = i.number();
    for (const Region& region : regions_) {
      if (IsBehindCopies(i, region)) position += Room(region);
    }
    return position;
  }

  // Where copy `copy` of an instruction of the layer stands. A positive distance leads from the
  // layer to the next one, through the copies.
  int64_t PositionOfCopy(InstructionIndex i, int32_t copy) const {
    const LayerPlace place = map_.instructions[i];
    const int32_t distance = map_.instruction_chains[place.chain].At(layer_ + 1) - i;
    return PositionOf(i) + int64_t{copy} * distance;
  }

 private:
  int64_t Room(const Region& region) const { return int64_t{count_} * std::abs(region.distance); }

  // An instruction of a layer is behind the copies of its own region if its layer is. The others
  // are if they stand behind the begin of the second of the two layers.
  bool IsBehindCopies(InstructionIndex i, const Region& region) const {
    const LayerPlace place = map_.instructions[i];
    if (place.chain >= 0 && IsOf(map_.instruction_chains[place.chain], region)) {
      return region.distance > 0 ? place.layer > layer_ : place.layer <= layer_;
    }
    return i >= region.first + std::max(region.distance, 0);
  }

  bool IsOf(const LayerChain<InstructionIndex>& chain, const Region& region) const {
    if (!chain.Has(layer_) || !chain.Has(layer_ + 1)) return false;
    const InstructionIndex i = chain.At(layer_);
    return i >= region.first && i <= region.last && chain.At(layer_ + 1) - i == region.distance;
  }

  const LayerMap& map_;
  const int32_t layer_;
  const int32_t count_;
  const std::vector<Region> regions_;
};

}  // namespace

IndexVector<InstructionIndex, ScheduledCopy> LongerSchedule(const LayerMap& map, int32_t layer,
                                                            int32_t count) {
  const Spreader spreader(map, layer, count);
  std::vector<std::tuple<int64_t, int32_t, int32_t>> places;  // position, copy, source
  for (const InstructionIndex i : map.instructions.indices()) {
    places.emplace_back(spreader.PositionOf(i), 0, i.number());
  }
  for (const InstructionIndex i : map.RepeatableInstructions(layer)) {
    for (int32_t copy = 1; copy <= count; ++copy) {
      places.emplace_back(spreader.PositionOfCopy(i, copy), copy, i.number());
    }
  }
  std::sort(places.begin(), places.end());
  IndexVector<InstructionIndex, ScheduledCopy> schedule;
  schedule.reserve(places.size());
  for (const auto& [position, copy, source] : places) {
    schedule.push_back({.source = InstructionIndex(source), .copy = copy});
  }
  return schedule;
}

}  // namespace mallocmuzero
