#include "env/solvers/local_search.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

namespace mallocmuzero {
namespace {

// Share of the cycles. A smaller gain may be rounding.
constexpr double kLeastGain = 1e-10;

// After so many kicks in a row that find no better plan, a search looks at the others' best plan.
constexpr int kPatience = 3;

// A search ends when it has tried so many changes for each access in a row and none has played a
// game.
constexpr uint64_t kEmptyTries = 1000;

// Movable accesses of a window. A program with at most kLongestWhole is one window; windows help
// only longer ones reliably (docs/search-scaling.md).
constexpr uint32_t kWindow = 64;
constexpr uint32_t kLongestWhole = 4096;

// Distance of the seeds of threads: large, so that searches with neighbouring seeds share none.
constexpr uint64_t kSeedStride = 0x9e3779b97f4a7c15;

}  // namespace

absl::StatusOr<PlayedPlan> LocalSearchSolver::Improve(const ProgramFacts& facts,
                                                      absl::Span<const PlayedPlan> starts,
                                                      uint64_t seed, SearchBudget& budget) const {
  if (budget.spent()) return BestOf(starts);
  const NeighbourhoodTables tables(facts);
  const uint32_t count = std::max(1U, budget.options().threads);
  PlanExchange exchange;
  std::vector<PlayedPlan> found(count);
  const auto search = [&](uint32_t k) {
    found[k] = LocalSearch(tables, seed + k * kSeedStride, budget, count > 1 ? &exchange : nullptr)
                   .Run(starts);
  };
  std::vector<std::thread> threads;
  for (uint32_t k = 1; k < count; ++k) threads.emplace_back(search, k);
  search(0);
  for (std::thread& thread : threads) thread.join();
  return BestOf(found);
}

LocalSearch::LocalSearch(const NeighbourhoodTables& tables, uint64_t seed, SearchBudget& budget,
                         PlanExchange* exchange)
    : meter_(budget),
      exchange_(exchange),
      random_(seed),
      neighbourhood_(tables),
      incumbent_(tables.rules()) {}

PlayedPlan LocalSearch::Run(absl::Span<const PlayedPlan> starts) {
  best_ = BestOf(starts);
  if (neighbourhood_.empty() || IsOver()) return best_;
  if (is_long()) {  // the time to climb from several starts grows with the square of the length
    incumbent_.Reset(best_.plan);
  } else {
    Select({starts.begin(), starts.end()});
  }
  Sweep();
  while (!IsOver()) {
    DisturbAndClimb();
    Follow();
  }
  return best_;
}

void LocalSearch::Select(std::vector<PlayedPlan> climbers) {
  constexpr size_t kClimbers = 4;
  uint64_t steps = neighbourhood_.size() / 4 + 1;
  for (size_t left = kClimbers; left > 0; left /= 2, steps *= 2) {
    std::stable_sort(climbers.begin(), climbers.end(),
                     [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
    climbers.resize(std::min(left, climbers.size()));
    if (left == 1) break;
    for (PlayedPlan& climber : climbers) {
      incumbent_.Reset(std::move(climber.plan));
      for (uint64_t k = 0; k < steps && !IsOver(); ++k) Step();
      climber = {incumbent_.plan(), incumbent_.cycles()};
    }
  }
  incumbent_.Reset(std::move(climbers[0].plan));
}

void LocalSearch::DisturbAndClimb() {
  ++idle_kicks_;
  const double before = incumbent_.cycles();
  Plan plan = incumbent_.plan();
  neighbourhood_.SetWindow(neighbourhood_.whole());
  const absl::Span<const PlanChange> kick = neighbourhood_.DrawKick(incumbent_, random_);
  if (is_long()) Enter(neighbourhood_.WindowAround(neighbourhood_.kicked_access(), kWindow));
  Try(kick, std::numeric_limits<double>::infinity());
  Climb();
  // The cycles are exact unless they are assumed to be too many. The disturbance itself may have
  // gained something, and no step after it.
  if (incumbent_.cycles() <= before) incumbent_.Confirm();
  if (incumbent_.is_exact()) Remember();
  if (incumbent_.cycles() > before) incumbent_.Reset(std::move(plan));
}

bool LocalSearch::is_long() const { return neighbourhood_.size() > kLongestWhole; }

void LocalSearch::Sweep() {
  if (!is_long()) return Climb();
  for (uint32_t first = 0; first < neighbourhood_.size() && !IsOver(); first += kWindow) {
    const uint32_t end = std::min(first + kWindow, neighbourhood_.size());
    const double before = incumbent_.cycles();
    Plan plan = incumbent_.plan();
    Enter({.first = first, .end = end});
    Climb();
    incumbent_.Confirm();
    Remember();
    if (incumbent_.cycles() > before) incumbent_.Reset(std::move(plan));
  }
}

void LocalSearch::Enter(const Window& window) {
  neighbourhood_.SetWindow(window);
  const auto [first, end] = neighbourhood_.AccessesIn(window);
  incumbent_.Focus(first, end);
}

void LocalSearch::Follow() {
  if (exchange_ == nullptr || idle_kicks_ < kPatience) return;
  std::optional<Plan> plan = exchange_->BetterThan(incumbent_.cycles());
  if (!plan) return;
  incumbent_.Reset(*std::move(plan));
  Remember();
}

void LocalSearch::Climb() {
  for (uint64_t idle = 0; idle < neighbourhood_.window().size() && !IsOver(); ++idle) {
    if (Step()) idle = 0;
  }
}

bool LocalSearch::Step() {
  const double before = incumbent_.cycles();
  Try(neighbourhood_.Draw(incumbent_, random_), before);
  if (incumbent_.cycles() >= before - kLeastGain * before) return false;
  if (incumbent_.is_exact()) Remember();
  return true;
}

void LocalSearch::Try(absl::Span<const PlanChange> changes, double limit) {
  if (incumbent_.Try(changes, limit)) {
    empty_tries_ = 0;
    meter_.CountGame();
  } else {
    ++empty_tries_;
    meter_.CountStep();
  }
}

bool LocalSearch::IsOver() const {
  return meter_.spent() || empty_tries_ > kEmptyTries * neighbourhood_.size();
}

void LocalSearch::Remember() {
  if (incumbent_.cycles() >= best_.cycles) return;
  best_ = {incumbent_.plan(), incumbent_.cycles()};
  idle_kicks_ = 0;
  meter_.budget().Found(best_);
  if (exchange_ != nullptr) exchange_->Offer(best_.plan, best_.cycles);
}

}  // namespace mallocmuzero
