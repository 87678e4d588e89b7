// Follows the arrays on which asynchronous collectives work, and finds moves of them.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLIGHTS_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLIGHTS_H_

#include "absl/container/flat_hash_set.h"
#include "simulator/place_check/flow.h"
#include "simulator/place_check/report.h"

namespace mallocmuzero::place_check {

// The values in flight: those that the start of a collective makes, and those that a fusion makes
// in place of a value in flight, up to the done.
using ValuesInFlight = absl::flat_hash_set<ValueId>;

ValuesInFlight FindValuesInFlight(const Flow& flow);

// Reports kMoveInFlight for each move that reads a value in flight.
void CheckFlights(const Flow& placed, const ValuesInFlight& in_flight, Report& report);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLIGHTS_H_
