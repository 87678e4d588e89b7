#include "metrics/program_returns.h"

namespace mallocmuzero {

void SetReturns(const v1::TrainMetrics::Program& program,
                prometheus::Family<prometheus::Gauge>& returns) {
  const auto set = [&](const char* player, double value) {
    returns.Add({{"chip", program.hardware()}, {"program", program.name()}, {"player", player}})
        .Set(value);
  };
  if (program.has_mean_return()) set("self_play", program.mean_return());
  if (program.has_policy_return()) set("policy", program.policy_return());
  if (program.has_best_return()) set("best", program.best_return());
  set("greedy", program.greedy_return());
  if (program.has_default_return()) set("default", program.default_return());
}

}  // namespace mallocmuzero
