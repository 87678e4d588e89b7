// A mapping that the compiler can pack: the game packs in the order of time, the compiler does not.

#ifndef MALLOCMUZERO_OPTIMIZE_PACKED_SOLVE_H_
#define MALLOCMUZERO_OPTIMIZE_PACKED_SOLVE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "env/solvers/solver.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

enum class Packing : uint8_t {
  kLeftToCompiler,  // the first search's mapping is the answer
  kPredicted,       // it must fit by simulator/place/packing.h, which is an upper bound
};

struct PackedSolution {
  Solution solution;
  int64_t packed_bytes = 0;  // that the compiler is expected to need
};

// A mapping by local search whose arrays the compiler can pack into the program's fast memory. A
// search has half of the time that is left up to `options.deadline`;
// while what it finds does not pack, the next one plays with less fast memory. If none packs, or
// none is faster, everything is in HBM.
absl::StatusOr<PackedSolution> SolveToPack(const Program& program, const SolveOptions& options,
                                           Packing packing);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_PACKED_SOLVE_H_
