// Hill climbing over plans, at zero temperature, with restarts, on one thread or several.

#ifndef MALLOCMUZERO_ENV_SOLVERS_LOCAL_SEARCH_H_
#define MALLOCMUZERO_ENV_SOLVERS_LOCAL_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/random.h"
#include "env/solvers/incumbent.h"
#include "env/solvers/neighbourhood.h"
#include "env/solvers/plan.h"
#include "env/solvers/plan_exchange.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/search_budget.h"
#include "env/solvers/solver.h"

namespace mallocmuzero {

// Climbs on as many threads as SolveOptions::threads says, each with random choices of its own.
class LocalSearchSolver : public Solver {
 public:
  absl::string_view name() const override { return solver_name::kLocalSearch; }
  absl::StatusOr<PlayedPlan> Improve(const ProgramFacts& facts, absl::Span<const PlayedPlan> starts,
                                     uint64_t seed, SearchBudget& budget) const override;
};

// The seed of one of a search's threads. Each thread draws numbers of its own. Thread 0 has the
// seed of the search.
uint64_t SeedOfThread(uint64_t seed, uint32_t thread);

// One thread's search. Thread-compatible; the arguments must outlive it.
class LocalSearch {
 public:
  // Searches with the same `exchange` go on from each other's best plans; null: alone.
  LocalSearch(const NeighbourhoodTables& tables, uint64_t seed, SearchBudget& budget,
              PlanExchange* exchange);

  // Climbs from the best few starts for a while, then longer from fewer and fewer of them. Until
  // the budget is spent, it then disturbs its best plan, climbs, and goes back if that lost. A long
  // program is searched from the best start and window by window: SearchWindows. Returns before the
  // end of the budget if there is nothing to decide, or if tries change no decision for long.
  // Returns the best plan played, the starts included. `starts` must not be empty.
  PlayedPlan Run(absl::Span<const PlayedPlan> starts);

 private:
  // --- The search of a program as a whole ---

  void Select(std::vector<PlayedPlan> climbers);
  void DisturbAndClimb();

  // --- The search of a long program ---

  // Climbs in each window of the program, then in windows around disturbances. The gains are
  // assumptions until a game to the end settles those of some windows.
  void SearchWindows();
  void ImproveWindow(const Window& window, bool disturb);

  // Tries the changes by which the current window has gained in all other layers at once, then in
  // each of them.
  void Spread();

  // The plan changes of a window that has gained, and of those alike.
  using Gain = std::vector<PlanChange>;

  // Whether windows have gained so often, or so long ago, that a game is worth its time.
  bool IsTimeToSettle() const;

  // Plays what is assumed. If the last settled plan is better, goes back to it and keeps some of
  // the gains. Settles more windows at once the next time, or fewer if the assumptions were wrong.
  void Settle();

  // Plays what is assumed. Returns whether that is the settled plan now. If it takes more cycles
  // than the last settled plan, goes back to that one.
  bool SettleOrGoBack();

  // Tries each half of these gains, which have lost together, on the settled plan. Does the same to
  // a half that gains nothing.
  void KeepSomeOf(absl::Span<const Gain> gains);

  // --- What both do ---

  // Goes on from the best plan of another search if that plan is better and this search is stuck.
  void Follow();

  // Settles another search's plan, then tries this search's own gains on it: in a long program they
  // are mostly in other windows.
  void TryOwnGains();

  // Takes steps until as many in a row have gained nothing as the window has movable accesses.
  void Climb();

  // Tries a random change. Returns whether the change gained.
  bool Step();

  // Whether the incumbent takes fewer cycles than these, by more than rounding.
  bool IsBelow(double cycles) const;

  // Tries these changes with a limit. Counts the try as a game if it plays one.
  void Try(absl::Span<const PlanChange> changes, double limit);

  // Whether the budget is spent, or tries play nothing any more.
  bool IsOver() const;

  // Keeps the incumbent if it is the best plan so far. It must be exact.
  void Remember();

  const ProgramFacts& facts_;
  BudgetMeter meter_;
  PlanExchange* exchange_;
  Random random_;
  Neighbourhood neighbourhood_;
  Incumbent incumbent_;
  PlayedPlan best_;
  uint64_t empty_tries_ = 0;  // the last tries in a row that played nothing
  int idle_kicks_ = 0;        // kicks, or windows, since this search found its best plan

  // In a long program.
  Incumbent::Mark before_;            // before the current window
  Incumbent::Mark settled_;           // the last plan that was played to its end
  std::vector<Gain> unsettled_;       // gains since
  uint64_t played_when_settled_ = 0;  // Incumbent::decisions_played then
  uint32_t settle_after_ = 1;         // the number of gains to settle at once
  Plan common_;                       // the plan that the searches had in common
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_LOCAL_SEARCH_H_
