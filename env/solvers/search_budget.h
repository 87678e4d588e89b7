// When a search has to end, and who wants to know how it does.

#ifndef MALLOCMUZERO_ENV_SOLVERS_SEARCH_BUDGET_H_
#define MALLOCMUZERO_ENV_SOLVERS_SEARCH_BUDGET_H_

#include <cstdint>
#include <limits>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "env/solvers/solver.h"

namespace mallocmuzero {

// Counts games against SolveOptions, of one search or of several at once. Thread-safe; `options`
// must outlive it.
class SearchBudget {
 public:
  explicit SearchBudget(const SolveOptions& options) : options_(options) {}

  // Counts a game. True if the search must end now; once true, always true.
  bool CountGame() ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    ++games_;
    if (spent_) return true;
    interrupted_ = options_.stop && options_.stop();
    spent_ = interrupted_ || games_ >= options_.max_games ||
             (options_.deadline != absl::InfiniteFuture() && absl::Now() >= options_.deadline);
    if (games_ % kGamesBetweenReports == 0) Report();
    return spent_;
  }

  const SolveOptions& options() const { return options_; }

  bool spent() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    return spent_;
  }
  bool interrupted() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    return interrupted_;
  }
  uint64_t games() const ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    return games_;
  }

  // Tells of a game that was played to its end.
  void Found(double cycles) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    if (cycles >= best_cycles_) return;
    best_cycles_ = cycles;
    Report();
  }

 private:
  static constexpr uint64_t kGamesBetweenReports = 1024;

  void Report() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (options_.progress && best_cycles_ < kNothing) {
      options_.progress({.best_cycles = best_cycles_, .games = games_});
    }
  }

  static constexpr double kNothing = std::numeric_limits<double>::infinity();

  const SolveOptions& options_;
  mutable absl::Mutex mutex_;
  uint64_t games_ ABSL_GUARDED_BY(mutex_) = 0;
  double best_cycles_ ABSL_GUARDED_BY(mutex_) = kNothing;
  bool spent_ ABSL_GUARDED_BY(mutex_) = false;
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_SEARCH_BUDGET_H_
