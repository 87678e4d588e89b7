#include "bench/reorder/order_search.h"

#include <cmath>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "bench/reorder/order_moves.h"
#include "env/game.h"
#include "env/solvers/local_search.h"
#include "env/solvers/portfolio.h"
#include "env/solvers/random.h"
#include "env/solvers/search_budget.h"

namespace mallocmuzero::reorder {
namespace {

// An order whose first game is worse by this share is not searched.
constexpr double kHopeless = 0.02;

// Share of the time for orders that only the crowding judges.
constexpr double kShareForCrowding = 0.1;

class OrderSearch {
 public:
  OrderSearch(Reorderer& reorderer, const OrderSearchOptions& options)
      : reorderer_(reorderer),
        options_(options),
        model_(reorderer.original(), reorderer.graph()),
        moves_(reorderer.graph(), model_),
        random_(options.seed),
        begin_(CpuSeconds()),
        most_bytes_(options.memory_growth *
                    static_cast<double>(PeakHbmBytes(reorderer.original()))) {}

  absl::StatusOr<FoundOrder> Run(const Plan& plan) && {
    best_.order = reorderer_.OriginalOrder();
    best_.plan = plan;
    best_.start = "original";
    const auto original = reorderer_.Build(best_.order);
    if (!original.ok()) return original.status();
    best_.cycles = CyclesOf(**original, plan);
    const Plan first_plan = plan;
    for (const NamedOrder& named : Starts()) {
      const absl::Status status = TryStart(named, first_plan);
      if (!status.ok()) return status;
    }
    const absl::Status status = Anneal();
    if (!status.ok()) return status;
    return std::move(best_);
  }

 private:
  double Elapsed() const { return CpuSeconds() - begin_; }

  std::vector<NamedOrder> Starts() {
    std::vector<NamedOrder> starts = ConstructOrders(reorderer_.graph(), model_);
    starts.push_back({"least crowded", LeastCrowded(reorderer_.OriginalOrder())});
    return starts;
  }

  // Hill climbing over orders by their crowding alone.
  Order LeastCrowded(Order order) {
    const double until = Elapsed() + kShareForCrowding * options_.cpu_seconds;
    double crowding = model_.Crowding(order);
    while (Elapsed() < until) {
      Order changed = order;
      moves_.Change(changed, random_);
      const double changed_crowding = model_.Crowding(changed);
      if (changed_crowding > crowding) continue;
      crowding = changed_crowding;
      order = std::move(changed);
    }
    return order;
  }

  // The order, ready to be played; null if it needs too much memory.
  absl::StatusOr<std::unique_ptr<PlayableOrder>> Build(const Order& order) {
    absl::StatusOr<std::unique_ptr<PlayableOrder>> playable = reorderer_.Build(order);
    if (!playable.ok()) return playable.status();
    ++best_.evaluated;
    if (static_cast<double>(PeakHbmBytes((*playable)->program)) <= most_bytes_) return playable;
    ++best_.over_memory;
    return std::unique_ptr<PlayableOrder>();
  }

  absl::Status TryStart(const NamedOrder& named, const Plan& plan) {
    const auto playable = Build(named.order);
    if (!playable.ok()) return playable.status();
    if (*playable == nullptr) return absl::OkStatus();
    const Plan found = SolvePlacement(**playable, (*playable)->FromOriginal(plan), options_.seed,
                                      options_.solve_seconds);
    const double cycles = CyclesOf(**playable, found);
    if (cycles >= best_.cycles) return absl::OkStatus();
    best_.order = named.order;
    best_.plan = (*playable)->ToOriginal(found);
    best_.cycles = cycles;
    best_.start = named.name;
    return absl::OkStatus();
  }

  absl::Status Anneal() {
    const double begin = Elapsed();
    Order order = best_.order;
    Plan plan = best_.plan;
    double cycles = best_.cycles;
    while (Elapsed() < options_.cpu_seconds) {
      Order changed = order;
      moves_.Change(changed, random_);
      if (changed == order) continue;
      const auto playable = Build(changed);
      if (!playable.ok()) return playable.status();
      if (*playable == nullptr) continue;
      const Plan here = (*playable)->FromOriginal(plan);
      const double done = (Elapsed() - begin) / (options_.cpu_seconds - begin);
      const double temperature = options_.temperature * (1 - done) * cycles;
      const double limit = cycles - temperature * std::log(1 - random_.Unit());
      if (CyclesOf(**playable, here) > (1 + kHopeless) * cycles) continue;
      PricedPlan found = Improve(**playable, here);
      if (found.cycles > limit) continue;
      ++best_.accepted;
      order = std::move(changed);
      plan = (*playable)->ToOriginal(found.plan);
      cycles = found.cycles;
      if (cycles >= best_.cycles) continue;
      best_.order = order;
      best_.plan = plan;
      best_.cycles = cycles;
    }
    return absl::OkStatus();
  }

  PricedPlan Improve(const PlayableOrder& playable, const Plan& plan) {
    const SolveOptions options = {.max_games = options_.games};
    SearchBudget budget(options);
    return SearchLocally(playable.rules, {plan}, random_.Next(), budget);
  }

  Reorderer& reorderer_;
  const OrderSearchOptions& options_;
  UnitModel model_;
  OrderMoves moves_;
  Random random_;
  double begin_;
  double most_bytes_;
  FoundOrder best_;
};

}  // namespace

double CpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Plan SolvePlacement(const PlayableOrder& playable, const Plan& proposal, uint64_t seed,
                    double cpu_seconds) {
  const double end = CpuSeconds() + cpu_seconds;
  const SolveOptions options = {.stop = [end] { return CpuSeconds() >= end; }, .seed = seed};
  SearchBudget budget(options);
  std::vector<Plan> starts = StartingPlans(playable.rules, budget);
  if (!proposal.empty()) starts.insert(starts.begin(), proposal);
  return SearchLocally(playable.rules, starts, seed, budget).plan;
}

double CyclesOf(const PlayableOrder& playable, const Plan& plan) {
  Game game(playable.rules);
  PlayPlan(plan, game);
  return game.cycles();
}

absl::StatusOr<FoundOrder> SearchOrders(Reorderer& reorderer, const Plan& plan,
                                        const OrderSearchOptions& options) {
  return OrderSearch(reorderer, options).Run(plan);
}

}  // namespace mallocmuzero::reorder
