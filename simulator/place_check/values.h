// Checks that kept instructions get the same values as in the original.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_VALUES_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_VALUES_H_

#include "simulator/place_check/flow.h"
#include "simulator/place_check/match.h"
#include "simulator/place_check/report.h"

namespace mallocmuzero::place_check {

// Reports kOperandValue, kRootValue, kCarriedValue.
void CheckValues(const Flow& original, const Flow& placed, const Match& match, Report& report);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_VALUES_H_
