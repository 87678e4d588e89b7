// How much fast memory the compiler needs for a placed module.
//
// A module carries no addresses: the compiler packs the arrays itself. It does so with best-fit
// heaps of the whole program (GlobalDecreasingSizeBestFitHeap,
// xla/service/heap_simulator/heap_simulator.cc): the arrays are taken in one fixed order, by size
// for example, and each gets the smallest gap that is free for all of its life. Of several orders
// the one that needs least is kept. The game packs in the order of time, so what fits there may not
// fit here.

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
    // Of the points and instructions in turn: instruction i runs at 2 i + 1, what happens just
    // before it at 2 i. Both ends included.
    int64_t first = 0;
    int64_t last = 0;
  };

  int64_t bytes = 0;
  std::vector<Life> lives;
  std::vector<uint32_t> intervals;  // of the mapping
};

// The arrays that the intervals of a mapping are in its placed module: from the copy or the write
// that begins one to its last use or the end of its copy to HBM. What a loop carries is one array.
std::vector<PackedArray> PackedArrays(const Program& program, const Mapping& mapping);

// The orders in which the compiler tries to place arrays.
enum class PackingOrder : uint8_t {
  kSize,      // largest first
  kDuration,  // longest life first
  kArea,      // largest product of both first
  kStart,     // earliest begin first
  kEnd,       // earliest end first
};

// The offset of each array, and the end of the highest in `heap_bytes`.
std::vector<int64_t> PackInOrder(absl::Span<const PackedArray> arrays, PackingOrder order,
                                 int64_t alignment, int64_t& heap_bytes);

// The least of all orders, bytes.
int64_t PackedBytes(const Program& program, const Mapping& mapping);

// The largest sum of the bytes of arrays that live at once: no packing needs less.
int64_t LiveBytes(absl::Span<const PackedArray> arrays);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_PACKING_H_
