#include "env/solvers/rent_plans.h"

#include <algorithm>
#include <utility>

#include "env/game.h"
#include "env/keep_value.h"

namespace mallocmuzero {
namespace {

// Every pair of prices is tried; the best pair is mostly in the middle.
constexpr double kMemoryPrices[] = {0, 0.2, 0.4, 0.7, 1, 1.5, 2, 3, 4.5, 7};
constexpr double kCopyPrices[] = {0, 0.15, 0.3, 0.6};

}  // namespace

RentPlanner::RentPlanner(const ProgramFacts& facts)
    : facts_(facts),
      memory_unit_(
          SavingsDensityUnit(facts.program(), facts.savings(), facts.cycles_before().back())) {}

Plan RentPlanner::PlanFor(const Prices& prices) const {
  Plan plan(facts_.program().access_count(), Action::kDrop);
  for (const Value& value : facts_.values()) PlanValue(value, prices, plan);
  return plan;
}

void RentPlanner::PlanValue(const Value& value, const Prices& prices, Plan& plan) const {
  bool all_kept = true;  // by the accesses after the current one
  Action next_action = Action::kDrop;
  for (size_t k = value.accesses.size(); k-- > 0;) {
    const AccessIndex a = value.accesses[k];
    const AccessKind kind = facts_.program().accesses()[a].kind;
    if (kind == AccessKind::kWrite) {
      plan[a] = PlanWrite(value, prices, all_kept, next_action);
      return;  // a write is a value's first access
    }
    const double copy_cycles = CopyCycles(value);
    if (k > 0 && facts_.savings()[a] > Rent(value, prices, HeldFor(value, k - 1, k))) {
      plan[a] = kind == AccessKind::kUpdate && !all_kept ? Action::kCopy : Action::kNoCopy;
    } else {
      all_kept = false;
      const double cost = Rent(value, prices, copy_cycles) + prices.copy * copy_cycles;
      if (facts_.savings()[a] > cost) plan[a] = Action::kCopy;
    }
    next_action = plan[a];
  }
}

Action RentPlanner::PlanWrite(const Value& value, const Prices& prices, bool all_kept,
                              Action next_action) const {
  if (all_kept) {
    double saving = 0;
    for (const AccessIndex a : value.accesses) saving += facts_.savings()[a];
    const double rent = Rent(value, prices, HeldFor(value, 0, value.accesses.size() - 1));
    if (saving > rent) return Action::kNoCopy;
  }
  const double copy_cycles = CopyCycles(value);
  const double cost = Rent(value, prices, copy_cycles) + prices.copy * copy_cycles;
  const bool pays = facts_.savings()[value.accesses[0]] > cost;
  return pays || next_action == Action::kNoCopy ? Action::kCopy : Action::kDrop;
}

double RentPlanner::HeldFor(const Value& value, size_t from, size_t to) const {
  const auto& accesses = facts_.program().accesses();
  const InstructionIndex end = facts_.rules().SpanEnd(
      accesses[value.accesses[to]].instruction, facts_.rules().buffer(value.buffer).defining_loop);
  return facts_.cycles_before()[end + 1] -
         facts_.cycles_before()[accesses[value.accesses[from]].instruction + 1];
}

double RentPlanner::Rent(const Value& value, const Prices& prices, double cycles) const {
  return prices.memory * memory_unit_ *
         static_cast<double>(facts_.rules().buffer(value.buffer).bytes) * cycles;
}

double RentPlanner::CopyCycles(const Value& value) const {
  return static_cast<double>(facts_.program().buffers()[value.buffer].bytes) /
         facts_.program().hardware().hbm_bytes_per_cycle();
}

absl::StatusOr<std::vector<PlayedPlan>> RentSolver::Propose(const ProgramFacts& facts,
                                                            uint64_t /*seed*/,
                                                            BudgetMeter& meter) const {
  const RentPlanner planner(facts);
  std::vector<Plan> known;
  std::vector<PlayedPlan> plans;
  for (const double memory : kMemoryPrices) {
    for (const double copy : kCopyPrices) {
      known.push_back(planner.PlanFor({.memory = memory, .copy = copy}));
      // Neighbouring prices often make the same plan.
      if (std::find(known.begin(), known.end() - 1, known.back()) != known.end() - 1) continue;
      PlayedPlan plan = Played(facts.rules(), known.back());
      const bool is_new = std::none_of(plans.begin(), plans.end(), [&](const auto& other) {
        return other.cycles == plan.cycles;
      });
      if (is_new) plans.push_back(std::move(plan));
      if (meter.CountGame()) break;
    }
    if (meter.spent()) break;
  }
  std::sort(plans.begin(), plans.end(),
            [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
  if (plans.size() > kBestRentPlans) plans.resize(kBestRentPlans);
  return plans;
}

}  // namespace mallocmuzero
