// A mapping that the compiler can pack: the game packs in the order of time, the compiler does not.

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

// A mapping by local search whose placed module fits into the program's fast memory. The first
// search takes until `options.deadline`. If its mapping does not fit, as much time again goes to
// two remedies, and the faster mapping is the answer:
//   - Intervals are left out, those first that cost least.
//   - The search plays again with less fast memory.
// If nothing fits, the answer is what needs least memory. If no mapping is faster than everything
// in HBM, that is the answer. A mapping that `place` refuses is the answer as it is: the caller
// will find out why.
absl::StatusOr<Solution> SolveToPack(const Program& program, const SolveOptions& options,
                                     PlaceMapping place);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_PACKED_SOLVE_H_
