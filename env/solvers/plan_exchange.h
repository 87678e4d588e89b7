// The best plan of searches that run side by side.

#ifndef MALLOCMUZERO_ENV_SOLVERS_PLAN_EXCHANGE_H_
#define MALLOCMUZERO_ENV_SOLVERS_PLAN_EXCHANGE_H_

#include <limits>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "env/solvers/plan.h"

namespace mallocmuzero {

// Holds the best plan that any of the searches has found. Thread-safe.
class PlanExchange {
 public:
  void Offer(const Plan& plan, double cycles) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    if (cycles >= cycles_) return;
    plan_ = plan;
    cycles_ = cycles;
  }

  // The best plan, if it takes fewer cycles than these.
  std::optional<Plan> BetterThan(double cycles) const ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    if (cycles_ >= cycles) return std::nullopt;
    return plan_;
  }

 private:
  mutable absl::Mutex mutex_;
  Plan plan_ ABSL_GUARDED_BY(mutex_);
  double cycles_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<double>::infinity();
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_PLAN_EXCHANGE_H_
