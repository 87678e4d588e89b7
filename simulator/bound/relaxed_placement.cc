#include "simulator/bound/relaxed_placement.h"

#include <optional>
#include <utility>

#include "simulator/bound/link_spans.h"
#include "simulator/bound/price_search.h"

namespace mallocmuzero {
namespace {

// The search takes few steps, and begins with a price of memory that is often near a good one.
constexpr double kMemoryShare = 0.5;

// The weight of a step in the mean.
constexpr double kStepWeight = 0.1;

void MoveTowards(const IndexVector<AccessIndex, double>& values, double weight,
                 IndexVector<AccessIndex, double>& mean) {
  for (const AccessIndex a : values.indices()) mean[a] += weight * (values[a] - mean[a]);
}

}  // namespace

std::optional<RelaxedPlacements> FindRelaxedPlacements(const Program& program, uint32_t steps,
                                                       absl::FunctionRef<bool()> give_up) {
  const bound::Counted counted = bound::OutsideOf(program, {});
  bound::PriceSearch search(program, counted, kMemoryShare);
  const bound::Usage& usage = search.dual().usage();
  RelaxedPlacement mean = {.in_fast_memory = usage.accesses, .stays = usage.stays};
  while (search.steps() < steps) {
    if (give_up()) return std::nullopt;
    search.Step(static_cast<double>(search.steps()) / steps);
    MoveTowards(usage.accesses, kStepWeight, mean.in_fast_memory);
    MoveTowards(usage.stays, kStepWeight, mean.stays);
  }
  return RelaxedPlacements{.last = {.in_fast_memory = usage.accesses, .stays = usage.stays},
                           .mean = std::move(mean)};
}

}  // namespace mallocmuzero
