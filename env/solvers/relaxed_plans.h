// Plans of the relaxation that bounds what any mapping saves.

#ifndef MALLOCMUZERO_ENV_SOLVERS_RELAXED_PLANS_H_
#define MALLOCMUZERO_ENV_SOLVERS_RELAXED_PLANS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "env/solvers/plan.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solver.h"
#include "simulator/bound/relaxed_placement.h"

namespace mallocmuzero {

// An access is in fast memory if the relaxation has it there in at least this share of the steps.
// Its value stays there from the access before if it does so in half of these steps, else it is
// copied.
Plan RelaxedPlan(const RelaxedPlacement& placement, double share, const ProgramFacts& facts);

// Searches a price of fast memory and one of copies for each instruction, and proposes the plans
// that are best at these prices. Proposes nothing if the search of prices would take more than half
// of the meter's time: too few steps make no good plans.
class RelaxedSolver : public Solver {
 public:
  absl::string_view name() const override { return "relaxed"; }
  absl::StatusOr<std::vector<PlayedPlan>> Propose(const ProgramFacts& facts, uint64_t seed,
                                                  BudgetMeter& meter) const override;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_RELAXED_PLANS_H_
