#include "env/solvers/search_budget.h"

#include <algorithm>

#include "absl/synchronization/mutex.h"

namespace mallocmuzero {
namespace {

constexpr absl::Duration kReportInterval = absl::Milliseconds(50);

// SolveOptions::improved is not called again before this many times the time of its last call.
constexpr int kPlanPause = 20;

// A meter has the budget check so often, unless a step takes longer.
constexpr absl::Duration kCheckInterval = absl::Milliseconds(1);

absl::Time PartOf(absl::Time now, absl::Time deadline, double share) {
  if (deadline == absl::InfiniteFuture() || deadline <= now) return deadline;
  return now + share * (deadline - now);
}

}  // namespace

bool SearchBudget::Check(absl::Time now) {
  if (now >= options_.deadline) over_.store(true, std::memory_order_relaxed);
  if (!mutex_.TryLock()) return is_over();
  if (!interrupted() && options_.stop && options_.stop()) {
    interrupted_.store(true, std::memory_order_relaxed);
    over_.store(true, std::memory_order_relaxed);
  }
  const double best = best_cycles_.load(std::memory_order_relaxed);
  if (best < reported_cycles_ || now >= next_report_) {
    next_report_ = now + kReportInterval;
    Report();
  }
  if (options_.improved && now >= next_plan_) ReportPlan(now);
  mutex_.Unlock();
  return is_over();
}

void SearchBudget::Found(double cycles) {
  double best = best_cycles_.load(std::memory_order_relaxed);
  while (cycles < best && !best_cycles_.compare_exchange_weak(best, cycles)) {
  }
}

void SearchBudget::Found(const PlayedPlan& plan) {
  Found(plan.cycles);
  if (!options_.improved) return;
  const absl::MutexLock lock(&plan_mutex_);
  if (plan.cycles < plan_.cycles) plan_ = plan;
}

void SearchBudget::Finish() {
  const absl::MutexLock lock(&mutex_);
  Report();
}

void SearchBudget::Report() {
  const double best = best_cycles_.load(std::memory_order_relaxed);
  if (!options_.progress || best == kNothing) return;
  reported_cycles_ = best;
  options_.progress({.best_cycles = best, .games = games()});
}

void SearchBudget::ReportPlan(absl::Time now) {
  PlayedPlan plan;
  {
    const absl::MutexLock lock(&plan_mutex_);
    if (plan_.cycles >= reported_plan_cycles_) return;
    plan = plan_;
  }
  reported_plan_cycles_ = plan.cycles;
  options_.improved(plan.plan, plan.cycles);
  const absl::Time done = Now();
  next_plan_ = done + std::max(kReportInterval, kPlanPause * (done - now));
}

uint64_t SearchBudget::Take(uint64_t wanted) {
  uint64_t taken = taken_.load(std::memory_order_relaxed);
  uint64_t given = std::min(wanted, max_games() - taken);
  while (given > 0 && !taken_.compare_exchange_weak(taken, taken + given)) {
    given = std::min(wanted, max_games() - taken);
  }
  return given;
}

BudgetMeter::BudgetMeter(SearchBudget& budget) : BudgetMeter(budget, 1) {}

BudgetMeter::BudgetMeter(SearchBudget& budget, double share)
    : BudgetMeter(budget, budget.Now(), share) {}

BudgetMeter::BudgetMeter(SearchBudget& budget, absl::Time now, double share)
    : budget_(budget),
      deadline_(PartOf(now, budget.options().deadline, share)),
      left_(budget.Take(kGamesSetAside)),
      late_(now >= deadline_),
      last_look_(now) {}

BudgetMeter::~BudgetMeter() {
  budget_.taken_.fetch_sub(left_, std::memory_order_relaxed);
  budget_.beyond_.fetch_add(beyond_, std::memory_order_relaxed);
}

uint64_t BudgetMeter::games_left() const {
  return left_ + budget_.max_games() - budget_.taken_.load(std::memory_order_relaxed);
}

void BudgetMeter::Look() {
  const absl::Time now = budget_.Now();
  const bool is_slow = now - last_look_ >= kCheckInterval / 2;
  last_look_ = now;
  steps_to_look_ = is_slow ? 1 : kStepsBetweenLooks;
  late_ = late_ || now >= deadline_;
  if (now - last_check_ < kCheckInterval) return;
  last_check_ = now;
  budget_.Check(now);
}

}  // namespace mallocmuzero
