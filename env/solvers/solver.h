// The interface of everything that searches plans: players of mallocGame that need no learning, and
// the agent.

#ifndef MALLOCMUZERO_ENV_SOLVERS_SOLVER_H_
#define MALLOCMUZERO_ENV_SOLVERS_SOLVER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "env/solvers/plan.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/search_budget.h"

namespace mallocmuzero {

// A solver proposes plans, improves plans, or does both. Immutable; safe to share between threads.
class Solver {
 public:
  virtual ~Solver() = default;

  virtual absl::string_view name() const = 0;

  // Plans made from the program alone, each played once. Counts each game in `meter`, and tells the
  // budget of it, as soon as it is played. Returns soon after the meter is spent. The default
  // proposes none.
  virtual absl::StatusOr<std::vector<PlayedPlan>> Propose(const ProgramFacts& facts, uint64_t seed,
                                                          BudgetMeter& meter) const;

  // The best plan that a search from `starts` plays, the starts included; there must be one.
  // Returns when the budget is spent or the search can play nothing new. The default returns the
  // best start.
  virtual absl::StatusOr<PlayedPlan> Improve(const ProgramFacts& facts,
                                             absl::Span<const PlayedPlan> starts, uint64_t seed,
                                             SearchBudget& budget) const;
};

// A plan that leaves everything in HBM where the rules allow it: what a search has if no game of
// its players ends in time.
Plan HbmPlan(const Program& program);

// Plays a plan to propose it, and counts the game. Returns nothing if the meter is spent before the
// game ends.
std::vector<PlayedPlan> PlayOne(const ProgramRules& rules, Plan plan, BudgetMeter& meter);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_SOLVER_H_
