#include "env/solvers/solver.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "env/solvers/exhaustive.h"
#include "env/solvers/greedy.h"
#include "env/solvers/local_search.h"
#include "env/solvers/plan.h"
#include "env/solvers/portfolio.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solution.h"
#include "env/solvers/xla_like.h"

namespace mallocmuzero {
namespace {

struct Solver {
  absl::string_view name;
  absl::StatusOr<Solution> (*solve)(const ProgramRules& rules, uint64_t seed, SearchBudget& budget);
};

absl::StatusOr<Solution> SolveExhaustively(const ProgramRules& rules, uint64_t /*seed*/,
                                           SearchBudget& budget) {
  const absl::StatusOr<std::vector<Action>> actions = SearchExhaustively(rules, budget);
  if (!actions.ok()) return actions.status();
  return SolutionOf(PlayActions(rules, *actions), "exhaustive");
}

absl::StatusOr<Solution> SolveByLocalSearch(const ProgramRules& rules, uint64_t seed,
                                            SearchBudget& budget) {
  const PricedPlan found = SearchLocally(rules, StartingPlans(rules, budget), seed, budget);
  return SolutionOf(rules, found.plan, "local_search");
}

constexpr Solver kSolvers[] = {
    {"all_hbm",
     [](const ProgramRules& rules, uint64_t, SearchBudget&) -> absl::StatusOr<Solution> {
       return AllHbmSolution(rules);
     }},
    {"default",
     [](const ProgramRules& rules, uint64_t, SearchBudget&) { return DefaultSolution(rules); }},
    {"greedy",
     [](const ProgramRules& rules, uint64_t, SearchBudget&) -> absl::StatusOr<Solution> {
       return SolutionOf(PlayGreedy(rules), "greedy");
     }},
    {"xla_like",
     [](const ProgramRules& rules, uint64_t, SearchBudget&) -> absl::StatusOr<Solution> {
       return SolutionOf(rules, XlaLikePlan(rules), "xla_like");
     }},
    {"local_search", SolveByLocalSearch},
    {"exhaustive", SolveExhaustively},
    {"portfolio",
     [](const ProgramRules& rules, uint64_t seed, SearchBudget& budget)
         -> absl::StatusOr<Solution> { return RunPortfolio(rules, seed, budget); }},
};

}  // namespace

absl::Span<const absl::string_view> SolverNames() {
  static constexpr absl::string_view kNames[] = {
      "all_hbm", "default", "greedy", "xla_like", "local_search", "exhaustive", "portfolio"};
  return kNames;
}

absl::StatusOr<Solution> Solve(absl::string_view name, const ProgramRules& rules,
                               const SolveOptions& options) {
  for (const Solver& solver : kSolvers) {
    if (solver.name != name) continue;
    SearchBudget budget(options);
    absl::StatusOr<Solution> solution = solver.solve(rules, options.seed, budget);
    if (!solution.ok()) return solution.status();
    budget.Found(solution->cycles);
    solution->games = budget.games();
    solution->interrupted = budget.interrupted();
    return solution;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown solver '", name, "'; known are ", absl::StrJoin(SolverNames(), ", ")));
}

}  // namespace mallocmuzero
