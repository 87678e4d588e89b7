// Packs values into fast memory as the compiler does for a placed module.
//
// A placed module contains no addresses, so the compiler packs the values itself
// (HeapSimulator::RunComputation and GlobalDecreasingSizeBestFitHeap in
// xla/service/heap_simulator/heap_simulator.cc):
//   - A clock ticks once for each allocation and each free, in the order in which the module runs.
//     In one step, new values are allocated before the values last used there are freed.
//   - The largest value is placed first. Among values of equal size, the one that lives for more
//     ticks comes first, then the one with the lower number.
//   - A value gets the smallest gap that is free for all of its life.
//
// The tests compare the offsets with those that the compiler prints for four modules
// (tests/data/packing); all are equal.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_PACKING_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_PACKING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero::place {

enum class Sharing : uint8_t {
  kNone,
  kMust,  // the module requires one buffer: an update in place, a value that a loop carries
  kMay,   // the compiler gives a result the bytes of an operand that ends there
};

// A value in fast memory, made by one instruction.
struct PackedValue {
  int64_t bytes = 0;
  int64_t first = 0;  // the step that makes the value
  int64_t last = 0;   // the last step that uses it
  Sharing sharing = Sharing::kNone;
  // number of the value whose bytes this one takes over; that value begins no later
  int32_t shares_with = -1;
};

// The numbers of the values by the step that makes them, then by the last step that uses them.
std::vector<int32_t> InOrderOfTime(absl::Span<const PackedValue> values);

// The addresses of values in fast memory.
struct PackedHeap {
  std::vector<int64_t> offsets;  // bytes, for each value
  int64_t packed_bytes = 0;      // end of the highest value
  int64_t live_bytes = 0;  // most bytes that live at the same time, a lower bound of every packing
};

// Packs the values. The number of a value is its index; it decides between values of equal size and
// life, as the id of a value does in the compiler. `alignment` is in bytes.
PackedHeap Pack(absl::Span<const PackedValue> values, int64_t alignment);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_PACKING_H_
