// All games of a tiny program.

#ifndef MALLOCMUZERO_ENV_SOLVERS_EXHAUSTIVE_H_
#define MALLOCMUZERO_ENV_SOLVERS_EXHAUSTIVE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/solver.h"

namespace mallocmuzero {

// Accesses that may be decided; at three actions each, a few seconds.
inline constexpr uint32_t kMaxExhaustiveAccesses = 16;

// Proposes a game of fewest cycles: the optimum, unless the budget is spent before; then the best
// game so far. The search goes depth first and gives a game up once it could not get below the best
// one even if all instructions to come took the fewest cycles they can. InvalidArgument if more
// than kMaxExhaustiveAccesses accesses may be decided.
class ExhaustiveSolver : public Solver {
 public:
  absl::string_view name() const override { return solver_name::kExhaustive; }
  absl::StatusOr<std::vector<PlayedPlan>> Propose(const ProgramFacts& facts, uint64_t seed,
                                                  BudgetMeter& meter) const override;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_EXHAUSTIVE_H_
