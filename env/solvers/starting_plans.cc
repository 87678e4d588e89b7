#include "env/solvers/starting_plans.h"

#include <utility>

#include "simulator/core/mapping.h"

namespace mallocmuzero {

absl::StatusOr<std::vector<PlayedPlan>> FollowDefaultSolver::Propose(const ProgramFacts& facts,
                                                                     uint64_t /*seed*/,
                                                                     BudgetMeter& meter) const {
  const Baseline* baseline = facts.program().baseline();
  if (baseline == nullptr) return std::vector<PlayedPlan>();
  return PlayOne(facts.rules(), FollowPlan(facts.program(), baseline->mapping), meter);
}

absl::StatusOr<StartingPlans> MakeStartingPlans(const ProgramFacts& facts,
                                                absl::Span<const Proposer> proposers, uint64_t seed,
                                                SearchBudget& budget) {
  StartingPlans starts;
  for (const Proposer& proposer : proposers) {
    if (budget.spent()) break;
    BudgetMeter meter(budget, proposer.share);
    absl::StatusOr<std::vector<PlayedPlan>> plans = proposer.solver->Propose(facts, seed, meter);
    if (!plans.ok()) return plans.status();
    for (PlayedPlan& plan : *plans) {
      starts.plans.push_back(std::move(plan));
      starts.solvers.push_back(proposer.solver->name());
    }
  }
  if (starts.plans.empty()) {
    starts.plans.push_back(Played(facts.rules(), HbmPlan(facts.program())));
    starts.solvers.push_back(solver_name::kAllHbm);
    BudgetMeter(budget).CountGame();
  }
  return starts;
}

}  // namespace mallocmuzero
