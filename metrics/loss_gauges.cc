#include "metrics/loss_gauges.h"

#include <string>

#include "metrics/families.h"

namespace mallocmuzero {

LossGauges::LossGauges(prometheus::Registry& registry, const std::string& prefix, const char* help)
    : loss_(MakeGauges(registry, prefix + "_loss", help)),
      policy_(loss_.Add({{"head", "policy"}})),
      value_(loss_.Add({{"head", "value"}})),
      reward_(loss_.Add({{"head", "reward"}})),
      gradient_norm_(MakeGauge(registry, prefix + "_gradient_norm",
                               "Norm of the gradient before it is clipped, mean.")),
      value_error_(MakeGauge(registry, prefix + "_value_error",
                             "Mean error of predicted values, in units of the baseline.")),
      learning_rate_(
          MakeGauge(registry, prefix + "_learning_rate", "Learning rate of the last update.")) {}

void LossGauges::Set(const v1::TrainMetrics::Losses& losses) {
  policy_.Set(losses.policy());
  value_.Set(losses.value());
  reward_.Set(losses.reward());
  if (losses.has_consistency()) loss_.Add({{"head", "consistency"}}).Set(losses.consistency());
  gradient_norm_.Set(losses.gradient_norm());
  value_error_.Set(losses.value_error());
  learning_rate_.Set(losses.learning_rate());
}

}  // namespace mallocmuzero
