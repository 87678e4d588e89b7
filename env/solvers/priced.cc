#include "env/solvers/priced.h"

#include <algorithm>
#include <utility>

#include "env/game.h"
#include "env/keep_value.h"
#include "env/savings_bound.h"

namespace mallocmuzero {
namespace {

// Tried with every copy price; the best is mostly in the middle.
constexpr double kMemoryPrices[] = {0, 0.2, 0.4, 0.7, 1, 1.5, 2, 3, 4.5, 7};
constexpr double kCopyPrices[] = {0, 0.15, 0.3, 0.6};

}  // namespace

PricedPlanner::PricedPlanner(const ProgramRules& rules)
    : rules_(rules),
      values_(FindValues(rules.program())),
      savings_(FindSavings(rules.program())),
      elapsed_before_(ElapsedCycles(rules.program())),
      memory_unit_(SavingsDensityUnit(rules.program(), savings_, elapsed_before_.back())) {}

Plan PricedPlanner::PlanFor(const Prices& prices) const {
  Plan plan(rules_.access_count(), Action::kDrop);
  for (const Value& value : values_) PlanValue(value, prices, plan);
  return plan;
}

void PricedPlanner::PlanValue(const Value& value, const Prices& prices, Plan& plan) const {
  bool all_kept = true;  // by the accesses after the current one
  Action next_action = Action::kDrop;
  for (size_t k = value.accesses.size(); k-- > 0;) {
    const uint32_t a = value.accesses[k];
    const AccessKind kind = rules_.program().accesses()[a].kind;
    if (kind == AccessKind::kWrite) {
      plan[a] = PlanWrite(value, prices, all_kept, next_action);
      return;  // a write is a value's first access
    }
    const double copy_cycles = CopyCycles(value);
    if (k > 0 && savings_[a] > Rent(value, prices, HeldFor(value, k - 1, k))) {
      plan[a] = kind == AccessKind::kUpdate && !all_kept ? Action::kCopy : Action::kNoCopy;
    } else {
      all_kept = false;
      const double cost = Rent(value, prices, copy_cycles) + prices.copy * copy_cycles;
      if (savings_[a] > cost) plan[a] = Action::kCopy;
    }
    next_action = plan[a];
  }
}

Action PricedPlanner::PlanWrite(const Value& value, const Prices& prices, bool all_kept,
                                Action next_action) const {
  if (all_kept) {
    double saving = 0;
    for (const uint32_t a : value.accesses) saving += savings_[a];
    const double rent = Rent(value, prices, HeldFor(value, 0, value.accesses.size() - 1));
    if (saving > rent) return Action::kNoCopy;
  }
  const double copy_cycles = CopyCycles(value);
  const double cost = Rent(value, prices, copy_cycles) + prices.copy * copy_cycles;
  const bool pays = savings_[value.accesses[0]] > cost;
  return pays || next_action == Action::kNoCopy ? Action::kCopy : Action::kDrop;
}

double PricedPlanner::HeldFor(const Value& value, size_t from, size_t to) const {
  const auto& accesses = rules_.program().accesses();
  const int32_t end = rules_.SpanEnd(accesses[value.accesses[to]].instruction,
                                     rules_.buffer(value.buffer).defining_loop);
  return elapsed_before_[end + 1] - elapsed_before_[accesses[value.accesses[from]].instruction + 1];
}

double PricedPlanner::Rent(const Value& value, const Prices& prices, double cycles) const {
  return prices.memory * memory_unit_ * static_cast<double>(rules_.buffer(value.buffer).bytes) *
         cycles;
}

double PricedPlanner::CopyCycles(const Value& value) const {
  return static_cast<double>(rules_.program().buffers()[value.buffer].bytes) /
         rules_.program().hardware().hbm_bytes_per_cycle();
}

std::vector<Plan> BestPricedPlans(const ProgramRules& rules, size_t count, SearchBudget& budget) {
  const PricedPlanner planner(rules);
  const Game start(rules);
  std::vector<std::pair<double, Plan>> plans;  // by cycles
  for (const double memory : kMemoryPrices) {
    for (const double copy : kCopyPrices) {
      Plan plan = planner.PlanFor({.memory = memory, .copy = copy});
      Game game = start;
      PlayPlan(plan, game);
      const bool is_new = std::none_of(plans.begin(), plans.end(), [&](const auto& other) {
        return other.first == game.cycles();
      });
      if (is_new) plans.push_back({game.cycles(), std::move(plan)});
      if (budget.CountGame()) break;
    }
    if (budget.spent()) break;
  }
  std::sort(plans.begin(), plans.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Plan> best;
  for (size_t k = 0; k < std::min(count, plans.size()); ++k) {
    best.push_back(std::move(plans[k].second));
  }
  return best;
}

}  // namespace mallocmuzero
