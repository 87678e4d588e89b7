// Measures how well the latency table predicts placements that it has not been fitted to.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_LATENCY_CALIBRATE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_LATENCY_CALIBRATE_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/latency.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/latency/latency_fit.h"
#include "simulator/import/matching/placement.h"

namespace mallocmuzero {

// Leaves out each placement in turn except the first (everything in HBM), fits the table to the
// others and predicts the placement left out. Instructions without an estimate or without a match
// are not counted. `stop` is that of each fit.
absl::StatusOr<v1::Calibration> Calibrate(
    const v1::Program& program, const LatencyClasses& classes,
    absl::Span<const Placement> placements,
    const std::function<bool()>& stop = [] { return false; });

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_LATENCY_CALIBRATE_H_
