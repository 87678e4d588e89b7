// The prices of the Lagrangian relaxation, and what a relaxed placement uses at them.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_PRICES_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_PRICES_H_

#include <array>
#include <cstddef>

#include "base/index.h"
#include "simulator/core/indices.h"

namespace mallocmuzero::bound {

// Limits of the number of large buffers: at most k + 1 buffers that are larger than a (k + 2)th of
// fast memory are in it at the same time, for each k below this. With prices of bytes alone the
// relaxation could keep fractions of large buffers.
inline constexpr size_t kLargeLimits = 3;

// One price for each thing that is scarce, or that two parts of the relaxation must agree on.
struct Prices {
  // Cycles for a byte of fast memory during an instruction, at least 0. 0 at loop markers.
  IndexVector<InstructionIndex, double> memory;

  // Cycles for being one of the large buffers of limit k during an instruction, at least 0. 0 at
  // loop markers.
  std::array<IndexVector<InstructionIndex, double>, kLargeLimits> large;

  // Cycles for a byte that a copy moves during an instruction: from 0 to the price of moving the
  // byte while the program waits just before the instruction.
  IndexVector<InstructionIndex, double> bandwidth;

  // Cycles that an instruction pays its buffer for an access in fast memory; any sign.
  IndexVector<AccessIndex, double> access;
};

}  // namespace mallocmuzero::bound

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_PRICES_H_
