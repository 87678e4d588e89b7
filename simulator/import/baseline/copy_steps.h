// Steps of a schedule at which arrays are made, and at which asynchronous operations end.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_COPY_STEPS_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_COPY_STEPS_H_

#include <cstdint>
#include <vector>

#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/analysis/schedule.h"

namespace mallocmuzero {

// For each step that starts an asynchronous operation the step of the matching done. -1 for all
// other steps, and if there is no done.
std::vector<int32_t> DoneOfStarts(const Schedule& schedule);

// For each value the step that makes it. -1 for the values of an asynchronous start in the place of
// which the start names its operands.
std::vector<int32_t> StepOfValues(const AnalyzedModule& module);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_COPY_STEPS_H_
