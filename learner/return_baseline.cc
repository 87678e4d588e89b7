#include "learner/return_baseline.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

// Games that the means look back on.
constexpr double kMemory = 256;

// A program whose games are all alike has no spread to measure by.
constexpr double kLeastScale = 1e-6;

}  // namespace

ReturnBaseline::ReturnBaseline(uint32_t access_count)
    : mean_(access_count + 1, 0), frozen_(access_count + 1, 0) {}

void ReturnBaseline::Add(const v1::Trajectory& trajectory) {
  const int decisions = trajectory.accesses_size();
  if (decisions == 0) return;
  ++games_;
  const double rate = 1 / std::min(static_cast<double>(games_), kMemory);
  double to_go = TotalReturn(trajectory) - trajectory.initial_return();
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
  // The first game deviates from nothing.
  if (games_ == 1) return;
  const double spread_rate = 1 / std::min(static_cast<double>(games_ - 1), kMemory);
  variance_ += spread_rate * (square / decisions - variance_);
}

void ReturnBaseline::Refresh() {
  frozen_ = mean_;
  scale_ = std::max(std::sqrt(variance_), kLeastScale);
}

v1::ReturnBaselineState ReturnBaseline::Save() const {
  v1::ReturnBaselineState state;
  state.set_games(games_);
  state.set_scale(scale_);
  state.set_variance(variance_);
  state.mutable_mean()->Add(mean_.begin(), mean_.end());
  state.mutable_frozen()->Add(frozen_.begin(), frozen_.end());
  return state;
}

bool ReturnBaseline::Restore(const v1::ReturnBaselineState& state) {
  if (state.mean_size() != mean_.size() || state.frozen_size() != frozen_.size()) return false;
  games_ = state.games();
  scale_ = state.scale();
  variance_ = state.variance();
  mean_.assign(state.mean().begin(), state.mean().end());
  frozen_.assign(state.frozen().begin(), state.frozen().end());
  return true;
}

}  // namespace mallocmuzero
