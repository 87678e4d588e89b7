#include "env/solvers/solver.h"

#include <algorithm>

namespace mallocmuzero {

absl::StatusOr<std::vector<PlayedPlan>> Solver::Propose(const ProgramFacts& /*facts*/,
                                                        uint64_t /*seed*/,
                                                        BudgetMeter& /*meter*/) const {
  return std::vector<PlayedPlan>();
}

absl::StatusOr<PlayedPlan> Solver::Improve(const ProgramFacts& /*facts*/,
                                           absl::Span<const PlayedPlan> starts, uint64_t /*seed*/,
                                           SearchBudget& /*budget*/) const {
  return BestOf(starts);
}

}  // namespace mallocmuzero
