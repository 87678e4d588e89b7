// Finds addresses for intervals whose times are fixed. The text of a compiled module says when a
// tensor is in fast memory, but not where.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_PACK_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_PACK_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace mallocmuzero {

// The bytes of an interval in fast memory, or of one slice of it. Blocks of the same group have a
// common offset.
struct Block {
  uint32_t first = 0;  // instructions during which the bytes are occupied, inclusive
  uint32_t last = 0;
  int64_t bytes = 0;
  int64_t delta = 0;  // bytes from the group's offset to the begin of the block
  int32_t group = 0;  // groups are numbered from 0, without gaps
};

// Finds one offset for each group, a multiple of `alignment`, such that no two blocks of different
// groups overlap in time and address, and every block ends within `capacity` bytes. Tries greedy
// best fit in several orders (XLA: GlobalDecreasingSizeBestFitHeap) and changes the orders at
// random, from a fixed seed, for up to `max_attempts` attempts. No attempt begins after `max_looks`
// looks at pairs of blocks that are in fast memory at the same time. Returns nullopt if no attempt
// succeeds, and at once if the blocks have more than `capacity` bytes at one time.
absl::optional<std::vector<int64_t>> PackBlocks(absl::Span<const Block> blocks, int64_t capacity,
                                                int64_t alignment, int max_attempts,
                                                int64_t max_looks);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_PACK_H_
