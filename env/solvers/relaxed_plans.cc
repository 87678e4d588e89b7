#include "env/solvers/relaxed_plans.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "simulator/core/values.h"

namespace mallocmuzero {
namespace {

// Of the search of prices. Thirty times as many steps find better prices, but no better plans
// (docs/search-scaling-history.md).
constexpr uint32_t kSteps = 100;

// Of the mean placement. The last placement needs no share.
constexpr double kShares[] = {0.7, 0.5, 0.3};

// The first steps after which the time of all steps is known.
constexpr uint32_t kStepsToKnow = 5;

std::optional<RelaxedPlacements> FindPlacements(const Program& program, BudgetMeter& meter) {
  const SearchBudget& budget = meter.budget();
  const absl::Time start = budget.Now();
  const absl::Duration most = (meter.deadline() - start) / 2;
  uint32_t steps = 0;
  return FindRelaxedPlacements(program, kSteps, [&] {
    const bool is_late = steps >= kStepsToKnow && (budget.Now() - start) * kSteps > most * steps;
    ++steps;
    return meter.CountStep() || is_late;
  });
}

}  // namespace

Plan RelaxedPlan(const RelaxedPlacement& placement, double share, const ProgramFacts& facts) {
  Plan plan(facts.program().access_count(), Action::kDrop);
  for (const Value& value : facts.values()) {
    bool all_stay = true;  // up to the accesses after the current one
    for (size_t k = value.accesses.size(); k-- > 0;) {
      const AccessIndex a = value.accesses[k];
      const double fast = placement.in_fast_memory[a];
      if (fast >= share) {
        const AccessKind kind = facts.program().accesses()[a].kind;
        const bool is_there = kind == AccessKind::kWrite || placement.stays[a] >= fast / 2;
        const bool copies = !is_there || (kind != AccessKind::kRead && !all_stay);
        plan[a] = copies ? Action::kCopy : Action::kNoCopy;
      }
      all_stay = all_stay && plan[a] == Action::kNoCopy;
    }
  }
  return plan;
}

absl::StatusOr<std::vector<PlayedPlan>> RelaxedSolver::Propose(const ProgramFacts& facts,
                                                               uint64_t /*seed*/,
                                                               BudgetMeter& meter) const {
  std::vector<PlayedPlan> played;
  const std::optional<RelaxedPlacements> placements = FindPlacements(facts.program(), meter);
  if (!placements) return played;
  std::vector<Plan> plans = {RelaxedPlan(placements->last, 1, facts)};
  for (const double share : kShares) plans.push_back(RelaxedPlan(placements->mean, share, facts));
  for (Plan& plan : plans) {
    if (meter.spent()) break;
    std::optional<PlayedPlan> game =
        PlayedUnless(facts.rules(), std::move(plan), [&] { return meter.CountStep(); });
    if (!game) break;
    meter.CountGame(*game);
    played.push_back(*std::move(game));
  }
  return played;
}

}  // namespace mallocmuzero
