// What players of each program save, for Prometheus.

#ifndef MALLOCMUZERO_METRICS_PROGRAM_RETURNS_H_
#define MALLOCMUZERO_METRICS_PROGRAM_RETURNS_H_

#include <prometheus/family.h>
#include <prometheus/gauge.h>

#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero {

// Sets those of self-play, the policy, the best game, greedy and the default, as far as they are
// known: a gauge each, labelled by chip, program and player.
void SetReturns(const v1::TrainMetrics::Program& program,
                prometheus::Family<prometheus::Gauge>& returns);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_METRICS_PROGRAM_RETURNS_H_
