// Hill climbing over plans, at zero temperature, with restarts, on one thread or several.

#ifndef MALLOCMUZERO_ENV_SOLVERS_LOCAL_SEARCH_H_
#define MALLOCMUZERO_ENV_SOLVERS_LOCAL_SEARCH_H_

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "env/program_rules.h"
#include "env/solvers/incumbent.h"
#include "env/solvers/neighbourhood.h"
#include "env/solvers/plan.h"
#include "env/solvers/plan_exchange.h"
#include "env/solvers/search_budget.h"

namespace mallocmuzero {

// A plan and what it costs.
struct PricedPlan {
  Plan plan;
  double cycles = 0;
};

// Climbs on as many threads as `budget.options()` says, each with random choices of its own, and
// returns the best plan that was played. `starts` must not be empty. Blocks until the budget is
// spent, or there is nothing to decide.
PricedPlan SearchLocally(const ProgramRules& rules, const std::vector<Plan>& starts, uint64_t seed,
                         SearchBudget& budget);

// One thread's search. Thread-compatible; the arguments must outlive it.
class LocalSearch {
 public:
  // Searches with the same `exchange` go on from each other's best plans; null: alone.
  LocalSearch(const ProgramRules& rules, uint64_t seed, SearchBudget& budget,
              PlanExchange* exchange);

  // Climbs from the best few plans for a while, longer from fewer and fewer of them; then, until
  // the budget is spent, disturbs the best one within a stretch of the program, climbs, and goes
  // back if that lost. Returns before only if there is nothing to decide. Plays at least the first
  // plan, spent budget or not.
  void Run(const std::vector<Plan>& starts);

  // The best plan played, after Run.
  const PricedPlan& best() const { return best_; }

 private:
  void Select(std::vector<PricedPlan>& climbers);
  void DisturbAndClimb();

  // Goes on from the best plan of another search, if it is better and this one is stuck.
  void Follow();

  // Takes steps until as many in a row as there are accesses to change have gained nothing.
  void Climb();

  // Tries a random change; true if it gained.
  bool Step();

  void Remember();

  SearchBudget& budget_;
  PlanExchange* exchange_;
  Random random_;
  Neighbourhood neighbourhood_;
  Incumbent incumbent_;
  PricedPlan best_;
  int idle_kicks_ = 0;  // since this search found its best plan
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_LOCAL_SEARCH_H_
