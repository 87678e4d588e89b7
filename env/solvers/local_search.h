// Hill climbing over plans, at zero temperature, with restarts.

#ifndef MALLOCMUZERO_ENV_SOLVERS_LOCAL_SEARCH_H_
#define MALLOCMUZERO_ENV_SOLVERS_LOCAL_SEARCH_H_

#include <cstdint>
#include <vector>

#include "env/game_rules.h"
#include "env/solvers/incumbent.h"
#include "env/solvers/neighbourhood.h"
#include "env/solvers/plan.h"
#include "env/solvers/random.h"
#include "env/solvers/search_budget.h"

namespace mallocmuzero {

// Thread-compatible; the arguments must outlive it.
class LocalSearch {
 public:
  LocalSearch(const GameRules& rules, uint64_t seed, SearchBudget& budget);

  // Climbs from the best few plans for a while, longer from fewer and fewer of them; then, until
  // the budget is spent, disturbs the best one within a stretch of the program, climbs, and goes
  // back if that lost. Returns before only if there is nothing to decide. Plays at least the first
  // plan, spent budget or not.
  void Run(const std::vector<Plan>& starts);

  // The best plan played, after Run, and its cycles.
  const Plan& best_plan() const { return best_plan_; }
  double best_cycles() const { return best_cycles_; }

 private:
  struct Climber {
    Plan plan;
    double cycles = 0;
  };

  void Select(std::vector<Climber>& climbers);
  void DisturbAndClimb();

  // Takes steps until as many in a row as there are accesses to change have gained nothing.
  void Climb();

  // Tries a random change; true if it gained.
  bool Step();

  void Remember();

  SearchBudget& budget_;
  Random random_;
  Neighbourhood neighbourhood_;
  Incumbent incumbent_;
  Plan best_plan_;
  double best_cycles_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_LOCAL_SEARCH_H_
