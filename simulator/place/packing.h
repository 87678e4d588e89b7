// How much fast memory the compiler needs for a placed module.
//
// A module carries no addresses, so the compiler packs the arrays itself. It uses best-fit heaps of
// the whole program (GlobalDecreasingSizeBestFitHeap,
// xla/service/heap_simulator/heap_simulator.cc). Such a heap takes the arrays in one fixed order,
// by size for example. It gives each array the smallest gap that is free for all of its life. The
// compiler tries several orders and keeps the one that needs least. The game packs in the order of
// time, so a mapping that fits there may not fit here.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_PACKING_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_PACKING_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::place {

// An array in fast memory, with all that shares its address.
struct PackedArray {
  struct Life {
    // Both ends are included. Instruction i runs at time 4 i + 3. Just before it, copies queued
    // earlier end at 4 i and copies start at 4 i + 1. A copy that starts and ends at this point
    // ends at 4 i + 2.
    int64_t first = 0;
    int64_t last = 0;
  };

  int64_t bytes = 0;
  std::vector<Life> lives;
  std::vector<uint32_t> intervals;  // of the mapping
};

// The arrays that the intervals of a mapping become in its placed module. An array lives from the
// copy or the write that begins its interval to its last use or to the end of its copy to HBM. The
// intervals of a value that a loop carries are one array.
std::vector<PackedArray> PackedArrays(const Program& program, const Mapping& mapping);

// The orders in which the compiler tries to place arrays.
enum class PackingOrder : uint8_t {
  kSize,      // largest first
  kDuration,  // longest life first
  kArea,      // largest product of both first
  kStart,     // earliest begin first
  kEnd,       // earliest end first
};

// The offset of each array, bytes. `heap_bytes` gets the end of the highest array.
std::vector<int64_t> PackInOrder(absl::Span<const PackedArray> arrays, PackingOrder order,
                                 int64_t alignment, int64_t& heap_bytes);

// The bytes that the arrays of a mapping take in the best of all orders.
int64_t PackedBytes(const Program& program, const Mapping& mapping);

// The largest sum of the bytes of arrays that live at once: no packing needs less.
int64_t LiveBytes(absl::Span<const PackedArray> arrays);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_PACKING_H_
