// Finds instructions and loops that overwrite what the program must leave as it is.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_READ_ONLY_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_READ_ONLY_H_

#include "simulator/place_check/flights.h"
#include "simulator/place_check/flow.h"
#include "simulator/place_check/report.h"

namespace mallocmuzero::place_check {

// Reports kReadOnly for each in-place update of a constant, or of a parameter that
// input_output_alias does not name, and for each loop that changes one. The next execution reads
// the constant, and the caller the parameter (XLA: ValueIsReadOnly in copy_insertion.cc). The start
// of a chain of fusions, which passes its operand on, is no update.
void CheckReadOnly(const Flow& flow, const ValuesInFlight& in_flight, Report& report);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_READ_ONLY_H_
