// What the relaxation of the upper bound has in fast memory.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_RELAXED_PLACEMENT_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_RELAXED_PLACEMENT_H_

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "base/index.h"
#include "simulator/core/indices.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// The best plans of all buffers at some prices (simulator/bound/dual.h). They ignore addresses and
// may together need more than the fast memory. Both are from 0 to 1, by access.
struct RelaxedPlacement {
  IndexVector<AccessIndex, double> in_fast_memory;

  // The value stays in fast memory from the access before.
  IndexVector<AccessIndex, double> stays;
};

// The placements of a search of good prices.
struct RelaxedPlacements {
  RelaxedPlacement last;  // of the last step
  RelaxedPlacement mean;  // of the last few steps
};

// Searches prices in this number of steps. Returns nullopt if `give_up` returns true before one of
// them. The cycles that collectives hide count. A step takes time linear in the program's length,
// apart from logarithms.
std::optional<RelaxedPlacements> FindRelaxedPlacements(const Program& program, uint32_t steps,
                                                       absl::FunctionRef<bool()> give_up);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_RELAXED_PLACEMENT_H_
