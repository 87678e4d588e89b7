// Several solvers, and the best of what they find.

#ifndef MALLOCMUZERO_ENV_SOLVERS_PORTFOLIO_H_
#define MALLOCMUZERO_ENV_SOLVERS_PORTFOLIO_H_

#include <vector>

#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solver.h"

namespace mallocmuzero {

// Where local search starts: greedy, xla_like, a game like the compiler's own placement if the
// program has one, and the best of some priced plans.
std::vector<Plan> StartingPlans(const ProgramRules& rules, SearchBudget& budget);

// The solver "portfolio"; see solver.h.
Solution RunPortfolio(const ProgramRules& rules, uint64_t seed, SearchBudget& budget);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_PORTFOLIO_H_
