// Solutions from games, and the two that need no game.

#ifndef MALLOCMUZERO_ENV_SOLVERS_SOLUTION_H_
#define MALLOCMUZERO_ENV_SOLVERS_SOLUTION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "env/solvers/solve.h"

namespace mallocmuzero {

// The mapping of a finished game, found by the solver `name`.
Solution SolutionOf(const Game& game, absl::string_view name);

// The mapping of the game that the plan plays.
Solution SolutionOf(const ProgramRules& rules, const Plan& plan, absl::string_view name);

Solution AllHbmSolution(const ProgramRules& rules);

// The compiler's own mapping. NotFound if the program has no baseline.
absl::StatusOr<Solution> DefaultSolution(const ProgramRules& rules);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_SOLUTION_H_
