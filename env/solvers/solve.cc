#include "env/solvers/solve.h"

#include <array>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "env/solvers/exhaustive.h"
#include "env/solvers/greedy.h"
#include "env/solvers/portfolio.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solution.h"
#include "env/solvers/solver.h"
#include "env/solvers/xla_like.h"

namespace mallocmuzero {
namespace {

// The answer of a solver that needs no starting plans.
template <typename Proposer>
absl::StatusOr<Solution> SolveAlone(const ProgramFacts& facts, uint64_t seed,
                                    SearchBudget& budget) {
  const Proposer solver;
  BudgetMeter meter(budget);
  const absl::StatusOr<std::vector<PlayedPlan>> plans = solver.Propose(facts, seed, meter);
  if (!plans.ok()) return plans.status();
  if (plans->empty()) {  // the time ended before the first game did
    return SolutionOf(facts.rules(), HbmPlan(facts.program()), solver_name::kAllHbm);
  }
  return SolutionOf(facts.rules(), BestOf(*plans).plan, solver.name());
}

absl::StatusOr<Solution> SolveAllHbm(const ProgramFacts& facts, uint64_t /*seed*/,
                                     SearchBudget& /*budget*/) {
  return AllHbmSolution(facts.rules());
}

absl::StatusOr<Solution> SolveDefault(const ProgramFacts& facts, uint64_t /*seed*/,
                                      SearchBudget& /*budget*/) {
  return DefaultSolution(facts.rules());
}

struct NamedSolver {
  absl::string_view name;
  absl::StatusOr<Solution> (*solve)(const ProgramFacts& facts, uint64_t seed, SearchBudget& budget);
};

constexpr NamedSolver kSolvers[] = {
    {solver_name::kAllHbm, SolveAllHbm},
    {solver_name::kDefault, SolveDefault},
    {solver_name::kGreedy, SolveAlone<GreedySolver>},
    {solver_name::kXlaLike, SolveAlone<XlaLikeSolver>},
    {solver_name::kLocalSearch, SolveByLocalSearch},
    {solver_name::kAgent, SolveByAgent},
    {solver_name::kExhaustive, SolveAlone<ExhaustiveSolver>},
    {solver_name::kPortfolio, RunPortfolio},
};

constexpr std::array<absl::string_view, std::size(kSolvers)> kNames = [] {
  std::array<absl::string_view, std::size(kSolvers)> names;
  for (size_t k = 0; k < names.size(); ++k) names[k] = kSolvers[k].name;
  return names;
}();

}  // namespace

absl::Span<const absl::string_view> SolverNames() { return kNames; }

absl::StatusOr<Solution> Solve(absl::string_view name, const ProgramRules& rules,
                               const SolveOptions& options) {
  for (const NamedSolver& solver : kSolvers) {
    if (solver.name != name) continue;
    SearchBudget budget(options);
    absl::StatusOr<Solution> solution = solver.solve(ProgramFacts(rules), options.seed, budget);
    if (!solution.ok()) return solution.status();
    solution->games = budget.games();
    solution->simulations = budget.simulations();
    solution->interrupted = budget.interrupted();
    budget.Found(solution->cycles);
    budget.Finish();
    return solution;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown solver '", name, "'; known are ", absl::StrJoin(SolverNames(), ", ")));
}

}  // namespace mallocmuzero
