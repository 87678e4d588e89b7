// Packs values into fast memory as the compiler does for a placed module.
//
// A placed module carries no addresses, so the compiler packs the values itself
// (HeapSimulator::RunComputation and GlobalDecreasingSizeBestFitHeap in
// xla/service/heap_simulator/heap_simulator.cc):
//   - A clock ticks once for each allocation and each free, in the order in which the module runs.
//     A value is allocated before those are freed that are last used in the same step.
//   - The largest value is placed first. Of values of one size, the one that lives for the most
//     ticks comes first, then the one with the lower number.
//   - A value gets the smallest gap that is free for all of its life.
//
// For four modules this gives each offset that the compiler prints (tests/data/packing).

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_PACKING_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_PACKING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero::place {

enum class Sharing : uint8_t {
  kNone,
  kMust,  // one buffer by the rules of the module: an update in place, a value that a loop carries
  kMay,   // the compiler gives a result the bytes of an operand that ends there
};

// A value in fast memory: what one instruction makes.
struct PackedValue {
  int64_t bytes = 0;
  int64_t first = 0;  // the step that makes the value
  int64_t last = 0;   // the last step that uses it
  Sharing sharing = Sharing::kNone;
  int32_t shares_with = -1;  // number of the value whose bytes this one takes; begins no later
};

struct PackedHeap {
  std::vector<int64_t> offsets;  // bytes, by value
  int64_t packed_bytes = 0;      // the end of the highest value
  int64_t live_bytes = 0;        // the most that lives at once: no packing needs less
};

// The number of a value is its index. It decides between values of equal size and life, as the ids
// of the compiler's values do there.
PackedHeap Pack(absl::Span<const PackedValue> values, int64_t alignment);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_PACKING_H_
