// Finds a mapping that the compiler can pack. The game assigns addresses in the order of time, but
// the compiler assigns them in the order of size.

#ifndef MALLOCMUZERO_OPTIMIZE_PACKED_SOLVE_H_
#define MALLOCMUZERO_OPTIMIZE_PACKED_SOLVE_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "env/solvers/solve.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/place/place.h"

namespace mallocmuzero {

// Writes a mapping of the program into its module.
using PlaceMapping = absl::FunctionRef<absl::StatusOr<place::PlacedModule>(const Mapping&)>;

// Finds a mapping by local search whose placed module fits into the program's fast memory. The
// first search runs until `options.deadline`. If its mapping does not fit, the same time again is
// spent on two remedies, and the faster result is returned:
//   - Intervals are left out, first those that cost least.
//   - The search runs again with less fast memory.
// If nothing fits, the mapping that needs least memory is returned. If no mapping is faster than
// everything in HBM, that one is returned. If `place` refuses a mapping, this mapping is
// returned, so that the caller gets the error when it places the mapping.
absl::StatusOr<Solution> SolveToPack(const Program& program, const SolveOptions& options,
                                     PlaceMapping place);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_PACKED_SOLVE_H_
