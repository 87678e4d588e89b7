// The prices of the Lagrangian relaxation, and what a relaxed placement uses at them.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_PRICES_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_PRICES_H_

#include <vector>

namespace mallocmuzero::bound {

// One price for each thing that is scarce, or that two parts of the relaxation must agree on.
struct Prices {
  // Cycles for a byte of fast memory during an instruction, at least 0. 0 at loop markers.
  std::vector<double> memory;

  // Cycles for a byte that a copy moves during an instruction: from 0 to the price of moving the
  // byte while the program waits just before the instruction.
  std::vector<double> bandwidth;

  // Cycles that an instruction pays its buffer for an access in fast memory; any sign.
  std::vector<double> access;
};

}  // namespace mallocmuzero::bound

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_PRICES_H_
