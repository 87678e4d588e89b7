#include "learner/run_metrics.h"

#include <cstdint>

namespace mallocmuzero {

void DescribeTotals(const v1::TrainState& totals, uint64_t updates, v1::TrainMetrics& metrics) {
  metrics.set_iteration(totals.iteration());
  metrics.set_seconds(totals.seconds());
  metrics.set_games(static_cast<double>(totals.games()));
  metrics.set_decisions(static_cast<double>(totals.decisions()));
  metrics.set_updates(static_cast<double>(updates));
}

void AddLosses(const UpdateResult& result, double share, v1::TrainMetrics::Losses& losses) {
  losses.set_total(losses.total() + share * result.total_loss);
  losses.set_policy(losses.policy() + share * result.policy_loss);
  losses.set_value(losses.value() + share * result.value_loss);
  losses.set_reward(losses.reward() + share * result.reward_loss);
  if (result.consistency_loss.has_value()) {
    losses.set_consistency(losses.consistency() + share * *result.consistency_loss);
  }
  losses.set_gradient_norm(losses.gradient_norm() + share * result.gradient_norm);
  losses.set_learning_rate(result.learning_rate);
  double error = 0;
  for (const float e : result.value_errors) error += e;
  error /= static_cast<double>(result.value_errors.size());
  losses.set_value_error(losses.value_error() + share * error);
}

void ScaleLosses(double factor, v1::TrainMetrics::Losses& losses) {
  losses.set_total(factor * losses.total());
  losses.set_policy(factor * losses.policy());
  losses.set_value(factor * losses.value());
  losses.set_reward(factor * losses.reward());
  if (losses.has_consistency()) losses.set_consistency(factor * losses.consistency());
  losses.set_gradient_norm(factor * losses.gradient_norm());
  losses.set_value_error(factor * losses.value_error());
}

}  // namespace mallocmuzero
