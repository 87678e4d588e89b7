// Follows the arrays on which asynchronous collectives work, and finds moves of them.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLIGHTS_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLIGHTS_H_

#include <cstddef>

#include "absl/container/flat_hash_map.h"
#include "simulator/place_check/flow.h"
#include "simulator/place_check/report.h"

namespace mallocmuzero::place_check {

// The values in flight. The start of a collective makes some. Up to the done, the fusions of its
// chain make others in place of them, and loops carry them. A loop that changes such a value
// carries an array of its own.
class ValuesInFlight {
 public:
  bool empty() const { return array_of_.empty(); }
  size_t size() const { return array_of_.size(); }
  bool contains(ValueId value) const { return array_of_.contains(value); }

  // Whether the values have the same bytes at all times. The values of a chain of fusions in one
  // buffer are one array. So is the operand of the start with those that pass it on.
  bool AreSameArray(ValueId a, ValueId b) const { return ArrayOf(a) == ArrayOf(b); }

  // Adds a value in flight that has the bytes of `same`.
  void Add(ValueId value, ValueId same) { array_of_.try_emplace(value, ArrayOf(same)); }

 private:
  // A value that stands for all values with the same bytes; may be of before the start.
  ValueId ArrayOf(ValueId value) const {
    const auto array = array_of_.find(value);
    return array == array_of_.end() ? value : array->second;
  }

  absl::flat_hash_map<ValueId, ValueId> array_of_;
};

ValuesInFlight FindValuesInFlight(const Flow& flow);

// Reports kMoveInFlight for each move that reads a value in flight.
void CheckFlights(const Flow& placed, const ValuesInFlight& in_flight, Report& report);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLIGHTS_H_
