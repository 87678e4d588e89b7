#include "env/solvers/portfolio.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "env/solvers/greedy.h"
#include "env/solvers/local_search.h"
#include "env/solvers/priced.h"
#include "env/solvers/solution.h"
#include "env/solvers/xla_like.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {

std::vector<Plan> StartingPlans(const ProgramRules& rules, SearchBudget& budget) {
  constexpr size_t kPricedPlans = 3;
  std::vector<Plan> plans = {PlanOf(PlayGreedy(rules)), XlaLikePlan(rules)};
  const absl::StatusOr<Mapping> baseline = BaselineMapping(rules.program());
  if (baseline.ok()) plans.push_back(FollowPlan(rules.program(), *baseline));
  for (const Proposal& proposal : budget.options().proposals) {
    plans.push_back(PlanOf(PlayActions(rules, proposal.actions)));
  }
  for (Plan& plan : BestPricedPlans(rules, kPricedPlans, budget)) plans.push_back(std::move(plan));
  return plans;
}

Solution RunPortfolio(const ProgramRules& rules, uint64_t seed, SearchBudget& budget) {
  std::vector<Solution> solutions;
  absl::StatusOr<Solution> baseline = DefaultSolution(rules);
  if (baseline.ok()) solutions.push_back(*std::move(baseline));
  solutions.push_back(AllHbmSolution(rules));
  solutions.push_back(SolutionOf(PlayGreedy(rules), "greedy"));
  solutions.push_back(SolutionOf(rules, XlaLikePlan(rules), "xla_like"));
  for (const Proposal& proposal : budget.options().proposals) {
    solutions.push_back(SolutionOf(PlayActions(rules, proposal.actions), proposal.player));
  }
  for (const Solution& solution : solutions) budget.Found(solution.cycles);
  const PricedPlan found = SearchLocally(rules, StartingPlans(rules, budget), seed, budget);
  solutions.push_back(SolutionOf(rules, found.plan, "local_search"));

  // Of equally good ones the first: nothing to change, and the simpler before the longer search.
  std::stable_sort(solutions.begin(), solutions.end(),
                   [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
  for (Solution& solution : solutions) {
    const bool is_default = solution.solver == "default";
    if (is_default || Validate(rules.program(), solution.mapping).empty()) {
      return std::move(solution);
    }
  }
  return AllHbmSolution(rules);
}

}  // namespace mallocmuzero
