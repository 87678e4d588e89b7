#include "env/solvers/local_search.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace mallocmuzero {
namespace {

// A share of the cycles. What gains less is rounding.
constexpr double kLeastGain = 1e-10;

// Kicks in a row that bring no better plan, and make a search look at what the others have.
constexpr int kPatience = 3;

// Of the seeds of threads: far apart, so that neighbouring seeds share none.
constexpr uint64_t kSeedStride = 0x9e3779b97f4a7c15;

}  // namespace

PricedPlan SearchLocally(const ProgramRules& rules, const std::vector<Plan>& starts, uint64_t seed,
                         SearchBudget& budget) {
  const uint32_t count = std::max(1U, budget.options().threads);
  PlanExchange exchange;
  std::vector<std::unique_ptr<LocalSearch>> searches;
  for (uint32_t k = 0; k < count; ++k) {
    searches.push_back(std::make_unique<LocalSearch>(rules, seed + k * kSeedStride, budget,
                                                     count > 1 ? &exchange : nullptr));
  }
  std::vector<std::thread> threads;
  for (uint32_t k = 1; k < count; ++k) {
    threads.emplace_back([&, k] { searches[k]->Run(starts); });
  }
  searches[0]->Run(starts);
  for (std::thread& thread : threads) thread.join();
  const auto best = std::min_element(searches.begin(), searches.end(), [](auto& a, auto& b) {
    return a->best().cycles < b->best().cycles;
  });
  return (*best)->best();
}

LocalSearch::LocalSearch(const ProgramRules& rules, uint64_t seed, SearchBudget& budget,
                         PlanExchange* exchange)
    : budget_(budget),
      exchange_(exchange),
      random_(seed),
      neighbourhood_(rules),
      incumbent_(rules),
      best_({{}, std::numeric_limits<double>::infinity()}) {}

void LocalSearch::Run(const std::vector<Plan>& starts) {
  std::vector<PricedPlan> climbers;
  for (const Plan& start : starts) {
    incumbent_.Reset(start);
    Remember();
    climbers.push_back({start, incumbent_.cycles()});
    if (budget_.CountGame()) return;
  }
  if (neighbourhood_.empty()) return;
  Select(climbers);
  Climb();
  while (!budget_.spent()) {
    DisturbAndClimb();
    Follow();
  }
}

void LocalSearch::Select(std::vector<PricedPlan>& climbers) {
  constexpr size_t kClimbers = 4;
  uint64_t steps = neighbourhood_.size() / 4 + 1;
  for (size_t left = kClimbers; left > 0; left /= 2, steps *= 2) {
    std::stable_sort(climbers.begin(), climbers.end(),
                     [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
    climbers.resize(std::min(left, climbers.size()));
    if (left == 1) break;
    for (PricedPlan& climber : climbers) {
      incumbent_.Reset(std::move(climber.plan));
      for (uint64_t k = 0; k < steps && !budget_.spent(); ++k) Step();
      climber = {incumbent_.plan(), incumbent_.cycles()};
    }
  }
  incumbent_.Reset(std::move(climbers[0].plan));
}

void LocalSearch::DisturbAndClimb() {
  ++idle_kicks_;
  const double before = incumbent_.cycles();
  Plan plan = incumbent_.plan();
  incumbent_.Try(neighbourhood_.DrawKick(incumbent_, random_),
                 std::numeric_limits<double>::infinity());
  Climb();
  Remember();  // what no step after the disturbance gained, itself may have
  if (incumbent_.cycles() > before) incumbent_.Reset(std::move(plan));
}

void LocalSearch::Follow() {
  if (exchange_ == nullptr || idle_kicks_ < kPatience) return;
  std::optional<Plan> plan = exchange_->BetterThan(incumbent_.cycles());
  if (!plan) return;
  incumbent_.Reset(*std::move(plan));
  Remember();
}

void LocalSearch::Climb() {
  for (uint64_t idle = 0; idle < neighbourhood_.size() && !budget_.spent(); ++idle) {
    if (Step()) idle = 0;
  }
}

bool LocalSearch::Step() {
  const double before = incumbent_.cycles();
  incumbent_.Try(neighbourhood_.Draw(incumbent_, random_), before);
  budget_.CountGame();
  if (incumbent_.cycles() >= before - kLeastGain * before) return false;
  Remember();
  return true;
}

void LocalSearch::Remember() {
  if (incumbent_.cycles() >= best_.cycles) return;
  best_ = {incumbent_.plan(), incumbent_.cycles()};
  idle_kicks_ = 0;
  budget_.Found(best_.cycles);
  if (exchange_ != nullptr) exchange_->Offer(best_.plan, best_.cycles);
}

}  // namespace mallocmuzero
