// Runs the placed module's schedule over its buffers: stale reads, writes under copies, capacity.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_MEMORY_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_MEMORY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "simulator/place_check/flow.h"
#include "simulator/place_check/in_place.h"
#include "simulator/place_check/order.h"
#include "simulator/place_check/report.h"

namespace mallocmuzero::place_check {

// Which values share a buffer.
class Buffers {
 public:
  // Reports kAliasSpace.
  Buffers(const Flow& flow, Report& report);

  // A number of the buffer that the value is in: that of one of its values.
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
  std::vector<int> parent_;  // by value
};

// When a value is in its buffer, in steps of the walk.
struct Life {
  int first = -1;  // -1: never
  int last = -1;
};

struct MemoryTrace {
  std::vector<Life> lives;                 // by value
  std::vector<std::pair<int, int>> steps;  // computation and instruction that runs
};

// Reports kStaleRead and kWriteDuringCopy. The order must be complete.
MemoryTrace WalkMemory(const Flow& flow, const Buffers& buffers, const Order& order,
                       Report& report);

struct Peak {
  int64_t bytes = 0;
  int step = 0;
};

// The most bytes of fast memory that buffers take at a step.
Peak FindPeak(const Flow& flow, const Buffers& buffers, const MemoryTrace& trace,
              const PlacedCheckOptions& options);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_MEMORY_H_
