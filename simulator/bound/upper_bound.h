// How many cycles fast memory can save at most, under any mapping.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_UPPER_BOUND_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_UPPER_BOUND_H_

#include <cstdint>

#include "absl/time/time.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

struct UpperBoundOptions {
  // Steps of the search for good prices, each of which evaluates the dual once.
  uint32_t steps = 2000;

  // Ends the search early (by SteadyNow). The bound is then valid, too, but looser.
  absl::Time deadline = absl::InfiniteFuture();
};

struct UpperBound {
  // No valid mapping saves more cycles against everything in HBM (Simulate). At most
  // `unlimited_saved_cycles`, also where the search had no time.
  double saved_cycles = 0;

  // The same if fast memory held every tensor and copies took no time.
  double unlimited_saved_cycles = 0;
};

// Minimises the dual of simulator/bound/dual.h by subgradients. The same program and number of
// steps give the same bound if the deadline does not end the search. One step takes time linear in
// the program's length, apart from logarithms.
UpperBound FindUpperBound(const Program& program, const UpperBoundOptions& options = {});

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_UPPER_BOUND_H_
