// The number of times that a `while` runs its body.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_TRIP_COUNT_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_TRIP_COUNT_H_

#include <cstdint>

#include "absl/types/optional.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero {

// The known_trip_count of the text, if there is one. Else, if the loop has a counter that starts at
// a constant, changes by a constant and is compared with a constant, the resulting number of passes
// (XLA: ComputeWhileLoopTripCount, xla/hlo/analysis/while_loop_analysis.cc). Else nullopt. `loop`
// must be a `while` in `caller` with one operand, a body and a condition.
absl::optional<int64_t> TripCount(const hlo::Module& module, const hlo::Computation& caller,
                                  const hlo::Instruction& loop);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_TRIP_COUNT_H_
