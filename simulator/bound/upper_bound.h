// How many cycles fast memory can save at most, under any mapping.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_UPPER_BOUND_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_UPPER_BOUND_H_

#include <cstdint>

#include "absl/time/time.h"
#include "simulator/bound/prices.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

struct UpperBoundOptions {
  // The search for good prices ends at the first of these limits. Every step improves the bound or
  // leaves it as it is.
  uint32_t steps = 4000;
  absl::Time deadline = absl::InfiniteFuture();

  // Cycles that some mapping is known to save. A better one makes the search for prices faster. The
  // bound is valid for any number.
  double known_saved_cycles = 0;
};

struct UpperBound {
  // No valid mapping saves more cycles against everything in HBM (Simulate), except one whose
  // cross-program prefetch is not that of the compiler.
  double saved_cycles = 0;

  // The prices that prove it.
  bound::Prices prices;

  uint32_t steps = 0;  // that were made
};

// Minimises the dual of simulator/bound/dual.h by a subgradient method with Polyak's step and
// deflected directions (Camerini, Fratta, Maffioli 1975). The same options give the same bound if the
// deadline does not end the search. Takes time linear in the program's length for each step, apart
// from logarithms.
UpperBound FindUpperBound(const Program& program, const UpperBoundOptions& options = {});

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_UPPER_BOUND_H_
