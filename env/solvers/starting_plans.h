// The plans that local search starts from.

#ifndef MALLOCMUZERO_ENV_SOLVERS_STARTING_PLANS_H_
#define MALLOCMUZERO_ENV_SOLVERS_STARTING_PLANS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "env/solvers/plan.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solver.h"

namespace mallocmuzero {

// Imitates the compiler's own placement. Proposes nothing if the program has no baseline, or if the
// meter is spent before the game ends.
class FollowDefaultSolver : public Solver {
 public:
  absl::string_view name() const override { return "follow_default"; }
  absl::StatusOr<std::vector<PlayedPlan>> Propose(const ProgramFacts& facts, uint64_t seed,
                                                  BudgetMeter& meter) const override;
};

// A solver that proposes starting plans, and the share that it may take of the time left.
struct Proposer {
  const Solver* solver;
  double share;
};

// Plans, and for each plan the name of its solver.
struct StartingPlans {
  std::vector<PlayedPlan> plans;
  std::vector<absl::string_view> solvers;
};

// The plans of all proposers, in their order. When the budget is spent, the other proposers are
// left out. If none has proposed a plan, the only one leaves everything in HBM where the rules
// allow it, so there always is a plan. Errors are the proposers'.
absl::StatusOr<StartingPlans> MakeStartingPlans(const ProgramFacts& facts,
                                                absl::Span<const Proposer> proposers, uint64_t seed,
                                                SearchBudget& budget);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_STARTING_PLANS_H_
