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
  kPredicted,       // it should fit by simulator/place/packing.h
};

struct PackedSolution {
  Solution solution;
  int64_t packed_bytes = 0;  // that the compiler is expected to need
};

// A mapping by local search. With kPredicted, as long as what it finds does not pack, the search
// plays again with less fast memory; all of that takes until `options.deadline`. If nothing packs,
// the answer is what needs least: the prediction is an upper bound. If no mapping is faster than
// everything in HBM, that is the answer.
absl::StatusOr<PackedSolution> SolveToPack(const Program& program, const SolveOptions& options,
                                           Packing packing);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_OPTIMIZE_PACKED_SOLVE_H_
