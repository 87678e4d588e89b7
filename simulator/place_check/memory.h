// Runs the placed module's schedule and tracks its buffers: finds stale reads, writes during
// copies, and the most bytes in use.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_MEMORY_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_MEMORY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulator/place_check/flights.h"
#include "simulator/place_check/flow.h"
#include "simulator/place_check/in_place.h"
#include "simulator/place_check/order.h"
#include "simulator/place_check/report.h"

namespace mallocmuzero::place_check {

// The buffers of all values.
class Buffers {
 public:
  // Assigns buffers. Reports kAliasSpace.
  Buffers(const Flow& flow, Report& report);

  // The buffer of a value, represented by the id of one of its values.
  int Of(ValueId value) const;

 private:
  void UniteInPlace(int computation, int instruction);
  void UniteLoop(int computation, int instruction);
  void UniteBranches(int computation, int instruction);
  void UniteProgramAliases();
  void Unite(ValueId a, ValueId b, const std::string& what);

  const Flow& flow_;
  Report& report_;
  InPlaceRules in_place_;
  std::vector<int> parent_;  // for each value
};

// The steps of the walk during which a value is in its buffer.
struct Life {
  int first = -1;  // -1: never
  int last = -1;
};

// The result of the walk.
struct MemoryTrace {
  std::vector<Life> lives;  // for each value
  // for each step the computation and instruction that runs
  std::vector<std::pair<int, int>> steps;
};

// Walks the schedule; the order must be complete. Reports kStaleRead and kWriteDuringCopy. Values
// that `in_flight` calls the same array may be read for each other.
MemoryTrace WalkMemory(const Flow& flow, const Buffers& buffers, const ValuesInFlight& in_flight,
                       const Order& order, Report& report);

// Most bytes in use, and the step at which they are.
struct Peak {
  int64_t bytes = 0;
  int step = 0;
};

// The most bytes of fast memory that buffers take at one step.
Peak FindPeak(const Flow& flow, const Buffers& buffers, const MemoryTrace& trace,
              const PlacedCheckOptions& options);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_MEMORY_H_
