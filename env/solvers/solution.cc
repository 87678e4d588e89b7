#include "env/solvers/solution.h"

#include <string>
#include <utility>

#include "simulator/core/mapping.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero {
namespace {

Solution SolutionOf(const Program& program, Mapping mapping, absl::string_view name) {
  Solution solution;
  solution.solver = std::string(name);
  solution.mapping = std::move(mapping);
  solution.mapping.solver = solution.solver;
  solution.cycles = Simulate(program, solution.mapping).total_cycles;
  return solution;
}

}  // namespace

Solution SolutionOf(const Game& game, absl::string_view name) {
  Solution solution = SolutionOf(game.program(), game.ToMapping(), name);
  solution.actions.assign(game.history().begin(), game.history().end());
  return solution;
}

Solution SolutionOf(const ProgramRules& rules, const Plan& plan, absl::string_view name) {
  Game game(rules);
  PlayPlan(plan, game);
  return SolutionOf(game, name);
}

Solution AllHbmSolution(const ProgramRules& rules) {
  return SolutionOf(rules.program(), AllHbmMapping(rules.program()), solver_name::kAllHbm);
}

absl::StatusOr<Solution> DefaultSolution(const ProgramRules& rules) {
  absl::StatusOr<Mapping> mapping = BaselineMapping(rules.program());
  if (!mapping.ok()) return mapping.status();
  return SolutionOf(rules.program(), *std::move(mapping), solver_name::kDefault);
}

}  // namespace mallocmuzero
