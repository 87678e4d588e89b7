#include "learner/return_baseline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/percentile.h"
#include "base/sha256.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

// The number of recent games in the means.
constexpr double kMemory = 256;

// The deviation before there are games to measure it. Later it counts as much as that of one game.
// Without it, the second game would be a million deviations from the first even if it differed only
// slightly.
constexpr double kSpreadBefore = 0.01;

// A lower bound, for programs whose games are all alike.
constexpr double kLeastScale = 1e-6;

// Returns that differ by less are equal except for rounding.
constexpr double kSameReturn = 1e-9;

// The largest number in a saved state, in absolute value. No game has a larger return, and what is
// computed from smaller ones is finite.
constexpr double kMostSaved = 1e12;

bool IsSaved(double number) { return std::abs(number) <= kMostSaved; }  // false for NaN

}  // namespace

ReturnBaseline::ReturnBaseline(uint32_t access_count, double ranked_quantile)
    : mean_(access_count + 1, 0), frozen_(access_count + 1, 0), ranked_quantile_(ranked_quantile) {}

void ReturnBaseline::Add(const v1::Trajectory& trajectory) {
  const int decisions = trajectory.accesses_size();
  if (decisions == 0) return;
  ++games_;
  if (is_ranked()) {
    returns_.push_back(TotalReturn(trajectory).share());
    if (static_cast<double>(returns_.size()) > kMemory) returns_.pop_front();
  }
  const double rate = 1 / std::min(static_cast<double>(games_), kMemory);
  double to_go = TotalReturn(trajectory).share() - trajectory.initial_return();
  double square = 0;
  uint32_t access = 0;
  for (int d = 0; d < decisions; ++d) {
    const uint32_t decided = trajectory.accesses(d);
    const double deviation = to_go - mean_[decided];
    square += deviation * deviation;
    for (; access <= decided; ++access) mean_[access] += rate * (to_go - mean_[access]);
    to_go -= trajectory.rewards(d);
  }
  for (; access < mean_.size(); ++access) mean_[access] -= rate * mean_[access];
  // The first game has no mean to deviate from.
  if (games_ == 1) return;
  const double spread_rate = 1 / std::min(static_cast<double>(games_ - 1), kMemory);
  variance_ += spread_rate * (square / decisions - variance_);
}

void ReturnBaseline::Refresh() {
  frozen_ = mean_;
  is_measured_ = games_ > 0;
  const double compared = games_ == 0 ? 0 : static_cast<double>(games_ - 1);
  const double before = kSpreadBefore * kSpreadBefore;
  scale_ = std::max(std::sqrt((before + compared * variance_) / (1 + compared)), kLeastScale);
  if (returns_.empty()) return;
  return_to_beat_ = Percentile({returns_.begin(), returns_.end()}, ranked_quantile_);
}

NetworkValue ReturnBaseline::Outcome(const v1::Trajectory& trajectory) const {
  if (std::isnan(return_to_beat_)) return NetworkValue(0);
  const double above = TotalReturn(trajectory).share() - return_to_beat_;
  const bool is_won =
      std::abs(above) > kSameReturn ? above > 0 : (Sha256(trajectory.id())[0] & 1) != 0;
  return NetworkValue(is_won ? 1 : -1);
}

void NoteSearchedReturns(const ReturnBaseline& baseline, v1::Trajectory& game) {
  if (baseline.is_ranked() || !baseline.is_measured()) return;
  game.clear_searched_returns();
  for (int d = 0; d < game.root_values_size(); ++d) {
    const NetworkValue value(game.root_values(d));
    game.add_searched_returns(
        static_cast<float>(baseline.FromNetwork(value, game.accesses(d)).share()));
  }
}

v1::ReturnBaselineState ReturnBaseline::Save() const {
  v1::ReturnBaselineState state;
  state.set_games(games_);
  state.set_measured(is_measured_);
  state.set_scale(scale_);
  state.set_variance(variance_);
  state.mutable_mean()->Add(mean_.begin(), mean_.end());
  state.mutable_frozen()->Add(frozen_.begin(), frozen_.end());
  if (is_ranked()) {
    state.mutable_returns()->Add(returns_.begin(), returns_.end());
    state.set_return_to_beat(return_to_beat_);
  }
  return state;
}

bool ReturnBaseline::Restore(const v1::ReturnBaselineState& state) {
  if (state.mean_size() != mean_.size() || state.frozen_size() != frozen_.size() ||
      state.has_return_to_beat() != is_ranked() || state.returns_size() > kMemory ||
      !(state.scale() >= kLeastScale && IsSaved(state.scale())) ||
      !(state.variance() >= 0 && IsSaved(state.variance())) || std::isinf(state.return_to_beat())) {
    return false;
  }
  for (const auto* numbers : {&state.mean(), &state.frozen(), &state.returns()}) {
    if (!std::all_of(numbers->begin(), numbers->end(), IsSaved)) return false;
  }
  games_ = state.games();
  scale_ = state.scale();
  variance_ = state.variance();
  mean_.assign(state.mean().begin(), state.mean().end());
  frozen_.assign(state.frozen().begin(), state.frozen().end());
  is_measured_ = state.measured() ||
                 std::any_of(frozen_.begin(), frozen_.end(), [](double mean) { return mean != 0; });
  returns_.assign(state.returns().begin(), state.returns().end());
  if (is_ranked()) return_to_beat_ = state.return_to_beat();
  return true;
}

}  // namespace mallocmuzero
