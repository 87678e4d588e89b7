// Prometheus metrics of the returns that each player reaches on a program.

#ifndef MALLOCMUZERO_METRICS_PROGRAM_RETURNS_H_
#define MALLOCMUZERO_METRICS_PROGRAM_RETURNS_H_

#include <prometheus/family.h>
#include <prometheus/gauge.h>

#include "mallocmuzero/v1/train_metrics.pb.h"

namespace mallocmuzero {

// Sets a gauge in `returns`, labelled by chip, program and player, for each player whose return is
// known: self-play, the policy, the best game, the greedy solver and the compiler's default.
void SetReturns(const v1::TrainMetrics::Program& program,
                prometheus::Family<prometheus::Gauge>& returns);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_METRICS_PROGRAM_RETURNS_H_
