// Several solvers, the time that each may take, and the best of their answers.

#ifndef MALLOCMUZERO_ENV_SOLVERS_PORTFOLIO_H_
#define MALLOCMUZERO_ENV_SOLVERS_PORTFOLIO_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solve.h"
#include "env/solvers/starting_plans.h"

namespace mallocmuzero {

// The starting plans of local search: greedy, xla_like, an imitation of the compiler's own
// placement if the program has one, the games of SolveOptions::agent if it has a share, and the
// best plans that pay rent (rent_plans.h).
absl::StatusOr<StartingPlans> UsualStartingPlans(const ProgramFacts& facts, double agent_share,
                                                 uint64_t seed, SearchBudget& budget);

// The solver "local_search".
absl::StatusOr<Solution> SolveByLocalSearch(const ProgramFacts& facts, uint64_t seed,
                                            SearchBudget& budget);

// The solver "agent": the agent's games, and local search from them and the other starting plans.
// InvalidArgument if there is no agent.
absl::StatusOr<Solution> SolveByAgent(const ProgramFacts& facts, uint64_t seed,
                                      SearchBudget& budget);

// The solver "portfolio": the best of everything in HBM, the proposals of greedy, xla_like and the
// agent, if there is one, and local search from the starting plans. Validate has accepted the
// answer, or the answer is the compiler's default.
//
// The answer is the default unless another one takes fewer cycles than the default takes as
// compiled (docs/cost-model.md tells that price from the default's price as a mapping).
absl::StatusOr<Solution> RunPortfolio(const ProgramFacts& facts, uint64_t seed,
                                      SearchBudget& budget);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_PORTFOLIO_H_
