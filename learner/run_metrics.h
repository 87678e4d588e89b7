// The parts that the metrics of `train` and of a cluster's learner have in common.

#ifndef MALLOCMUZERO_LEARNER_RUN_METRICS_H_
#define MALLOCMUZERO_LEARNER_RUN_METRICS_H_

#include <cstdint>

#include "learner/learner.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"

namespace mallocmuzero {

// Sets the iteration and the totals of a run in a line of metrics. `updates` are those of the run.
void DescribeTotals(const v1::TrainState& totals, uint64_t updates, v1::TrainMetrics& metrics);

// Adds `share` of an update's losses to a mean.
void AddLosses(const UpdateResult& result, double share, v1::TrainMetrics::Losses& losses);

// Multiplies a mean of losses, but not the learning rate, which is that of the last update.
void ScaleLosses(double factor, v1::TrainMetrics::Losses& losses);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_RUN_METRICS_H_
