#include "env/solvers/solver.h"

#include <optional>
#include <utility>

namespace mallocmuzero {

absl::StatusOr<std::vector<PlayedPlan>> Solver::Propose(const ProgramFacts& /*facts*/,
                                                        uint64_t /*seed*/,
                                                        BudgetMeter& /*meter*/) const {
  return std::vector<PlayedPlan>();
}

absl::StatusOr<PlayedPlan> Solver::Improve(const ProgramFacts& /*facts*/,
                                           absl::Span<const PlayedPlan> starts, uint64_t /*seed*/,
                                           SearchBudget& /*budget*/) const {
  return BestOf(starts);
}

Plan HbmPlan(const Program& program) { return Plan(program.access_count(), Action::kDrop); }

std::vector<PlayedPlan> PlayOne(const ProgramRules& rules, Plan plan, BudgetMeter& meter) {
  std::vector<PlayedPlan> plans;
  std::optional<PlayedPlan> played =
      PlayedUnless(rules, std::move(plan), [&] { return meter.CountStep(); });
  if (!played) return plans;
  meter.CountGame(*played);
  plans.push_back(*std::move(played));
  return plans;
}

}  // namespace mallocmuzero
