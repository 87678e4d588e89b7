#include "env/solvers/rent_plans.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "env/game.h"
#include "simulator/core/savings.h"

namespace mallocmuzero {
namespace {

// Every pair of prices is tried if there is time. Dear prices come first: their games leave some of
// fast memory free and take less time, because no search for addresses is needed.
constexpr double kMemoryPrices[] = {7, 4.5, 3, 2, 1.5, 1, 0.7, 0.4, 0.2, 0};
constexpr double kCopyPrices[] = {0.6, 0.3, 0.15, 0};

// A plan, and the prices that it pays.
struct PricedPlan {
  Prices prices;
  PlayedPlan plan;
};

// The best few plans, the best one first, no two of equal cycles. The plan of the lowest prices
// stands for those that have its cycles.
std::vector<PlayedPlan> BestPlans(std::vector<PricedPlan> played) {
  std::sort(played.begin(), played.end(), [](const PricedPlan& a, const PricedPlan& b) {
    return std::tie(a.plan.cycles, a.prices.memory, a.prices.copy) <
           std::tie(b.plan.cycles, b.prices.memory, b.prices.copy);
  });
  std::vector<PlayedPlan> best;
  for (PricedPlan& priced : played) {
    if (best.size() == RentSolver::kBestRentPlans) break;
    if (!best.empty() && best.back().cycles == priced.plan.cycles) continue;
    best.push_back(std::move(priced.plan));
  }
  return best;
}

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
  std::vector<PricedPlan> played;
  for (const double copy : kCopyPrices) {
    for (const double memory : kMemoryPrices) {
      const Prices prices = {.memory = memory, .copy = copy};
      known.push_back(planner.PlanFor(prices));
      // Neighbouring prices often make the same plan.
      if (std::find(known.begin(), known.end() - 1, known.back()) != known.end() - 1) continue;
      const bool is_first = played.empty();
      std::optional<PlayedPlan> plan = PlayedUnless(facts.rules(), known.back(), [&] {
        meter.CountStep();
        return is_first ? meter.budget().is_over() : meter.spent();
      });
      if (!plan) return BestPlans(std::move(played));
      const bool is_over = meter.CountGame(*plan);
      played.push_back({prices, *std::move(plan)});
      if (is_over) return BestPlans(std::move(played));
    }
  }
  return BestPlans(std::move(played));
}

}  // namespace mallocmuzero
