// Follows the arrays on which asynchronous collectives work, and finds moves of them.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLIGHTS_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLIGHTS_H_

#include "absl/container/flat_hash_map.h"
#include "simulator/place_check/flow.h"
#include "simulator/place_check/in_place.h"
#include "simulator/place_check/report.h"

namespace mallocmuzero::place_check {

// The values in flight: those that the start of a collective makes, and those that a fusion makes
// or a loop carries in place of a value in flight, up to the done.
class ValuesInFlight {
 public:
  explicit ValuesInFlight(const Flow& flow);

  bool empty() const { return array_of_.empty(); }
  bool contains(ValueId value) const { return array_of_.contains(value); }

  // Whether the values have the same bytes at all times. The values of a chain of fusions in one
  // buffer are one array. So is the operand of the start with those that pass it on.
  bool AreSameArray(ValueId a, ValueId b) const { return ArrayOf(a) == ArrayOf(b); }

 private:
  // Add the values in flight that an instruction makes.
  void Visit(int computation, int index);
  void Start(int computation, int index);
  void PassOn(int computation, int index);
  void EnterLoop(int computation, int index);

  // Adds a value that has the bytes of `same` and is in flight.
  void Add(ValueId value, ValueId same) { array_of_.try_emplace(value, ArrayOf(same)); }

  // A value that stands for all values with the same bytes; may be of before the start.
  ValueId ArrayOf(ValueId value) const {
    const auto array = array_of_.find(value);
    return array == array_of_.end() ? value : array->second;
  }

  const Flow& flow_;
  const Graph& graph_;
  InPlaceRules in_place_;
  absl::flat_hash_map<ValueId, ValueId> array_of_;
};

// Reports kMoveInFlight for each move that reads a value in flight.
void CheckFlights(const Flow& placed, const ValuesInFlight& in_flight, Report& report);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_FLIGHTS_H_
