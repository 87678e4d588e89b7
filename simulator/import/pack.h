// Addresses for intervals whose times are fixed: the text of a compiled module says when a tensor
// is in fast memory, but not where.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_PACK_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_PACK_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace mallocmuzero {

// Bytes of a stay in fast memory, or of one piece of it. Blocks with the same `group` move
// together.
struct Block {
  uint32_t first = 0;  // instructions, inclusive
  uint32_t last = 0;
  int64_t bytes = 0;
  int64_t delta = 0;  // where the block begins behind its group's offset, bytes
  int32_t group = 0;  // 0 to the number of groups - 1, none left out
};

// Offsets by group, multiples of `alignment`, such that no two blocks of different groups overlap
// in time and address and all end within `capacity` bytes. Tries greedy best fit in several orders
// (XLA: GlobalDecreasingSizeBestFitHeap), improving the orders from a fixed seed until
// `max_attempts`; nullopt if none fits.
absl::optional<std::vector<int64_t>> PackBlocks(absl::Span<const Block> blocks, int64_t capacity,
                                                int64_t alignment, int max_attempts);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_PACK_H_
