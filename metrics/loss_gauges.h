// Prometheus metrics of a learner's losses.

#ifndef MALLOCMUZERO_METRICS_LOSS_GAUGES_H_
#define MALLOCMUZERO_METRICS_LOSS_GAUGES_H_

#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <string>

#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero {

// PREFIX_loss by head, PREFIX_gradient_norm, PREFIX_value_error and PREFIX_learning_rate.
class LossGauges {
 public:
  // Registers the metrics. `registry` must outlive them. `help` says what the losses are means of.
  LossGauges(prometheus::Registry& registry, const std::string& prefix, const char* help);

  // Sets all metrics. The head "consistency" is there once there was such a loss.
  void Set(const v1::TrainMetrics::Losses& losses);

 private:
  prometheus::Family<prometheus::Gauge>& loss_;
  prometheus::Gauge& policy_;
  prometheus::Gauge& value_;
  prometheus::Gauge& reward_;
  prometheus::Gauge& gradient_norm_;
  prometheus::Gauge& value_error_;
  prometheus::Gauge& learning_rate_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_METRICS_LOSS_GAUGES_H_
