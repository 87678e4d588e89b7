// The limits of a search, and the count of its games, shared by the threads of the search.

#ifndef MALLOCMUZERO_ENV_SOLVERS_SEARCH_BUDGET_H_
#define MALLOCMUZERO_ENV_SOLVERS_SEARCH_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <limits>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "env/solvers/plan.h"
#include "env/solvers/solve.h"

namespace mallocmuzero {

// What all threads of a search share. Thread-safe; `options` must outlive it. A thread counts its
// games in a BudgetMeter of its own.
class SearchBudget {
 public:
  explicit SearchBudget(const SolveOptions& options) : options_(options) {}

  const SolveOptions& options() const { return options_; }
  absl::Time Now() const { return options_.clock(); }

  // Whether the search must end: `stop` or the deadline ended it at the last Check, or no game is
  // left. Once true, always true while no meter is alive. Takes no lock.
  bool spent() const { return is_over() || taken_.load(std::memory_order_relaxed) >= max_games(); }

  // The same without the games.
  bool is_over() const { return over_.load(std::memory_order_relaxed); }

  // Asks `stop`, compares the deadline with `now`, and reports progress. Returns is_over(). Does
  // not wait for another thread that is doing so.
  bool Check(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // Notes a game that was played to its end. Takes no lock.
  void Found(double cycles);

  // The same, with the plan that plays the game. Takes a lock if SolveOptions::improved is set.
  void Found(const PlayedPlan& plan) ABSL_LOCKS_EXCLUDED(plan_mutex_);

  // Adds steps of the network.
  void CountSimulations(uint64_t simulations) { simulations_ += simulations; }
  uint64_t simulations() const { return simulations_.load(std::memory_order_relaxed); }

  // Reports the end of the search.
  void Finish() ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether `stop` ended the search.
  bool interrupted() const { return interrupted_.load(std::memory_order_relaxed); }

  // Games counted by meters that are gone, and games set aside for those that are not.
  uint64_t games() const {
    return taken_.load(std::memory_order_relaxed) + beyond_.load(std::memory_order_relaxed);
  }

 private:
  friend class BudgetMeter;

  static constexpr double kNothing = std::numeric_limits<double>::infinity();

  uint64_t max_games() const { return options_.max_games; }

  // Sets aside up to `wanted` of the games that are left, for a meter.
  uint64_t Take(uint64_t wanted);

  void Report() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReportPlan(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_)
      ABSL_LOCKS_EXCLUDED(plan_mutex_);

  const SolveOptions& options_;
  std::atomic<uint64_t> taken_ = 0;   // at most max_games
  std::atomic<uint64_t> beyond_ = 0;  // games played after the last one that was left
  std::atomic<uint64_t> simulations_ = 0;
  std::atomic<double> best_cycles_ = kNothing;
  std::atomic<bool> over_ = false;
  std::atomic<bool> interrupted_ = false;
  absl::Mutex mutex_;  // held while the functions of `options_` run
  double reported_cycles_ ABSL_GUARDED_BY(mutex_) = kNothing;
  absl::Time next_report_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  double reported_plan_cycles_ ABSL_GUARDED_BY(mutex_) = kNothing;
  absl::Time next_plan_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Mutex plan_mutex_ ABSL_ACQUIRED_AFTER(mutex_);
  PlayedPlan plan_ ABSL_GUARDED_BY(plan_mutex_) = {.plan = {}, .cycles = kNothing};
};

// One thread's count of its games, and its view of the limits: the budget's, and a deadline of its
// own. It looks at the clock after a few games or some more steps, or after each one that takes
// long, and has the budget check about once a millisecond. Thread-compatible; the budget must
// outlive it.
class BudgetMeter {
 public:
  // With the budget's own deadline.
  explicit BudgetMeter(SearchBudget& budget);

  // With this share of the time that the budget has left.
  BudgetMeter(SearchBudget& budget, double share);

  // Gives back the games that were set aside and not played.
  ~BudgetMeter();

  BudgetMeter(const BudgetMeter&) = delete;
  BudgetMeter& operator=(const BudgetMeter&) = delete;

  // Counts a game that was played, at least in part. Returns spent().
  bool CountGame() {
    if (left_ > 0)
      --left_;
    else
      ++beyond_;
    if (left_ == 0) left_ = budget_.Take(kGamesSetAside);
    return Count(kStepsOfAGame);
  }

  // The same for a game that a plan played to its end. Tells the budget of it.
  bool CountGame(const PlayedPlan& plan) {
    budget_.Found(plan);
    return CountGame();
  }

  // Counts a step of work that is no game: a try that played nothing, or a part of a long
  // computation. Returns spent().
  bool CountStep() { return Count(1); }

  // Whether the work must end. Once true, always true.
  bool spent() const { return is_over() || left_ == 0; }

  // The same without the games.
  bool is_over() const { return late_ || budget_.is_over(); }

  // The deadline of this meter.
  absl::Time deadline() const { return deadline_; }

  // Games that the search may still play.
  uint64_t games_left() const;

  SearchBudget& budget() { return budget_; }

 private:
  static constexpr uint64_t kGamesSetAside = 64;

  // The steps between two looks at the clock. They are few, because the next games may take a
  // thousand times as long as the last ones did. A game counts for some steps.
  static constexpr int32_t kStepsBetweenLooks = 16;
  static constexpr int32_t kStepsOfAGame = 4;

  BudgetMeter(SearchBudget& budget, absl::Time now, double share);

  bool Count(int32_t steps) {
    steps_to_look_ -= steps;
    if (steps_to_look_ <= 0) Look();
    return spent();
  }

  // Looks at the clock, and has the budget check if the last check was a while ago.
  void Look();

  SearchBudget& budget_;
  const absl::Time deadline_;
  uint64_t left_;        // games set aside for this meter; 0: none is left
  uint64_t beyond_ = 0;  // games played after that
  bool late_;
  absl::Time last_look_;
  absl::Time last_check_ = absl::InfinitePast();
  int32_t steps_to_look_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_SEARCH_BUDGET_H_
