// All games of a tiny program.

#ifndef MALLOCMUZERO_ENV_SOLVERS_EXHAUSTIVE_H_
#define MALLOCMUZERO_ENV_SOLVERS_EXHAUSTIVE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/solver.h"

namespace mallocmuzero {

// The most accesses that may be decided. With three actions each, the search takes a few seconds.
inline constexpr uint32_t kMaxExhaustiveAccesses = 16;

// Proposes a game of fewest cycles. This is the optimum, or the best game so far if the budget is
// spent before. The search goes depth first. It gives a game up once the game could not get below
// the best one even if all instructions to come took the fewest cycles that they can.
// InvalidArgument if more than kMaxExhaustiveAccesses accesses may be decided.
class ExhaustiveSolver : public Solver {
 public:
  absl::string_view name() const override { return solver_name::kExhaustive; }
  absl::StatusOr<std::vector<PlayedPlan>> Propose(const ProgramFacts& facts, uint64_t seed,
                                                  BudgetMeter& meter) const override;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_EXHAUSTIVE_H_
