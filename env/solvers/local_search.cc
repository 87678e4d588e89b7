#include "env/solvers/local_search.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace mallocmuzero {
namespace {

// A share of the cycles. What gains less is rounding.
constexpr double kLeastGain = 1e-10;

}  // namespace

LocalSearch::LocalSearch(const GameRules& rules, uint64_t seed, SearchBudget& budget)
    : budget_(budget),
      random_(seed),
      neighbourhood_(rules),
      incumbent_(rules),
      best_cycles_(std::numeric_limits<double>::infinity()) {}

void LocalSearch::Run(const std::vector<Plan>& starts) {
  std::vector<Climber> climbers;
  for (const Plan& start : starts) {
    incumbent_.Reset(start);
    Remember();
    climbers.push_back({start, incumbent_.cycles()});
    if (budget_.CountGame()) return;
  }
  if (neighbourhood_.empty()) return;
  Select(climbers);
  Climb();
  while (!budget_.spent()) DisturbAndClimb();
}

void LocalSearch::Select(std::vector<Climber>& climbers) {
  constexpr size_t kClimbers = 4;
  uint64_t steps = neighbourhood_.size() / 4 + 1;
  for (size_t left = kClimbers; left > 0; left /= 2, steps *= 2) {
    std::stable_sort(climbers.begin(), climbers.end(),
                     [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
    climbers.resize(std::min(left, climbers.size()));
    if (left == 1) break;
    for (Climber& climber : climbers) {
      incumbent_.Reset(std::move(climber.plan));
      for (uint64_t k = 0; k < steps && !budget_.spent(); ++k) Step();
      climber = {incumbent_.plan(), incumbent_.cycles()};
    }
  }
  incumbent_.Reset(std::move(climbers[0].plan));
}

void LocalSearch::DisturbAndClimb() {
  const double before = incumbent_.cycles();
  Plan plan = incumbent_.plan();
  incumbent_.Try(neighbourhood_.DrawKick(incumbent_, random_),
                 std::numeric_limits<double>::infinity());
  Climb();
  if (incumbent_.cycles() > before) incumbent_.Reset(std::move(plan));
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
  if (incumbent_.cycles() >= best_cycles_) return;
  best_cycles_ = incumbent_.cycles();
  best_plan_ = incumbent_.plan();
  budget_.Found(best_cycles_);
}

}  // namespace mallocmuzero
