// How well the latency table predicts placements it has not seen.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_CALIBRATE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_CALIBRATE_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "mallocmuzero/v1/latency.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/latency_fit.h"
#include "simulator/import/observe.h"

namespace mallocmuzero {

// Leaves each placement but the first (all HBM) out in turn, fits the table to the others and
// predicts it. Instructions without an estimate or without a match take no part.
absl::StatusOr<v1::Calibration> Calibrate(const v1::Program& program, const LatencyClasses& classes,
                                          absl::Span<const Placement> placements);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_CALIBRATE_H_
