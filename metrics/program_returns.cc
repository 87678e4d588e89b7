#include "metrics/program_returns.h"

namespace mallocmuzero {

prometheus::Gauge& ReturnGauge(const v1::TrainMetrics::Program& program, const char* player,
                               prometheus::Family<prometheus::Gauge>& returns) {
  return returns.Add(
      {{"chip", program.hardware()}, {"program", program.name()}, {"player", player}});
}

void SetReturns(const v1::TrainMetrics::Program& program,
                prometheus::Family<prometheus::Gauge>& returns) {
  const auto set = [&](const char* player, double value) {
    ReturnGauge(program, player, returns).Set(value);
  };
  if (program.has_mean_return()) set("self_play", program.mean_return());
  if (program.has_best_return()) set("best", program.best_return());
  set("greedy", program.greedy_return());
  if (program.has_default_return()) set("default", program.default_return());
}

}  // namespace mallocmuzero
