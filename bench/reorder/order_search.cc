#include "bench/reorder/order_search.h"

#include <cmath>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/status_macros.h"
#include "bench/reorder/order_moves.h"
#include "env/game.h"
#include "env/solvers/local_search.h"
#include "env/solvers/portfolio.h"
#include "env/solvers/search_budget.h"

namespace mallocmuzero::reorder {
namespace {

// If the first game of an order is worse than the best by this share, the order is not searched.
constexpr double kHopeless = 0.02;

// Most draws until one changes the order. In a program that is almost a chain, most draws change
// nothing.
constexpr int kDraws = 100;

// Number of orders tried between two longer local searches for the plan of the current order, and
// number of games of such a search.
constexpr int64_t kTriesBetweenSearches = 32;
constexpr uint64_t kGamesOfSearch = 512;

// Share of the time that is spent on orders compared by their crowding alone.
constexpr double kShareForCrowding = 0.1;

// Local search from these plans.
PlayedPlan Improve(const PlayableOrder& playable, const std::vector<PlayedPlan>& starts,
                   uint64_t seed, const SolveOptions& options) {
  SearchBudget budget(options);
  // Local search has no errors.
  return *LocalSearchSolver().Improve(ProgramFacts(playable.rules), starts, seed, budget);
}

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
    for (const NamedOrder& named : Starts()) {
      MMZ_RETURN_IF_ERROR(TryStart(named, plan));
    }
    MMZ_RETURN_IF_ERROR(Anneal());
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

  // The order, ready to be played; null if its peak of HBM is too large.
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
    FoundOrder current = best_;
    while (Elapsed() < options_.cpu_seconds) {
      const double done = (Elapsed() - begin) / (options_.cpu_seconds - begin);
      const double temperature = options_.temperature * (1 - done) * current.cycles;
      const double limit = current.cycles - temperature * std::log(1 - random_.Unit());
      Order order = current.order;
      if (++tries_ % kTriesBetweenSearches != 0) {
        for (int k = 0; k < kDraws && order == current.order; ++k) moves_.Change(order, random_);
      }
      const uint64_t games = order == current.order ? kGamesOfSearch : options_.games;
      MMZ_RETURN_IF_ERROR(TryOrder(std::move(order), games, limit, current));
    }
    return absl::OkStatus();
  }

  // Makes the order the current one if it takes at most `limit` cycles, either with the current
  // plan or with a plan that local search finds from it in `games` games.
  absl::Status TryOrder(Order order, uint64_t games, double limit, FoundOrder& current) {
    const auto playable = Build(order);
    if (!playable.ok()) return playable.status();
    if (*playable == nullptr) return absl::OkStatus();
    const bool moved = order != current.order;
    Plan plan = (*playable)->FromOriginal(current.plan);
    double cycles = CyclesOf(**playable, plan);
    if (cycles > (1 + kHopeless) * current.cycles) return absl::OkStatus();
    if (!moved || cycles > limit) {
      const SolveOptions options = {.max_games = games};
      PlayedPlan found = Improve(**playable, {{std::move(plan), cycles}}, random_.Next(), options);
      plan = std::move(found.plan);
      cycles = found.cycles;
    }
    if (cycles > limit) return absl::OkStatus();
    best_.accepted += moved ? 1 : 0;
    current.order = std::move(order);
    current.plan = (*playable)->ToOriginal(plan);
    current.cycles = cycles;
    if (cycles >= best_.cycles) return absl::OkStatus();
    best_.order = current.order;
    best_.plan = current.plan;
    best_.cycles = cycles;
    return absl::OkStatus();
  }

  Reorderer& reorderer_;
  const OrderSearchOptions& options_;
  UnitModel model_;
  OrderMoves moves_;
  Random random_;
  double begin_;
  int64_t tries_ = 0;
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
  const ProgramFacts facts(playable.rules);
  SearchBudget budget(options);
  // The proposers of these plans have no errors.
  std::vector<PlayedPlan> starts =
      UsualStartingPlans(facts, /*agent_share=*/0, seed, budget)->plans;
  if (!proposal.empty()) starts.insert(starts.begin(), Played(playable.rules, proposal));
  return LocalSearchSolver().Improve(facts, starts, seed, budget)->plan;
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
