// Solutions from games and from mappings that need none.

#ifndef MALLOCMUZERO_ENV_SOLVERS_SOLUTION_H_
#define MALLOCMUZERO_ENV_SOLVERS_SOLUTION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "env/solvers/solver.h"

namespace mallocmuzero {

// Of a finished game. `name` is the solver's.
Solution SolutionOf(const Game& game, absl::string_view name);

// Of the game that the plan plays.
Solution SolutionOf(const ProgramRules& rules, const Plan& plan, absl::string_view name);

Solution AllHbmSolution(const ProgramRules& rules);

// NotFound if the program has no baseline.
absl::StatusOr<Solution> DefaultSolution(const ProgramRules& rules);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_SOLUTION_H_
