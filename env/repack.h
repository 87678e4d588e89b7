// New addresses for blocks of fast memory, so that scattered free bytes become one place.

#ifndef MALLOCMUZERO_ENV_REPACK_H_
#define MALLOCMUZERO_ENV_REPACK_H_

#include <cstdint>
#include <vector>

#include "simulator/core/indices.h"

namespace mallocmuzero {

// Bytes that are taken during some instructions: a rectangle of time and addresses.
struct AddressBlock {
  int64_t offset = 0;  // bytes
  int64_t bytes = 0;
  InstructionIndex first = 0;  // instructions for which the bytes are taken, inclusive
  InstructionIndex last = 0;
  // The last instruction up to which the bytes hold a value that may be used. At least `last`.
  InstructionIndex kept_until = 0;
  bool moves = false;
};

// A search for places gives up after so many steps. A step is a look at one block. This many take
// 0.1 to 0.2 milliseconds. The longest search in the programs of workloads takes 81,000 steps, and
// the longest one that finds places 46,000. Programs of 6,000 instructions in little memory have
// searches that would take 700,000, and nearly all of these fail.
inline constexpr int64_t kMostRepackSteps = int64_t{1} << 17;

// Finds offsets below `capacity` for the blocks that move, such that no two blocks share a byte at
// one time. The last block is the wanted one: a place for it is the purpose, and it must move. With
// `keep_values`, the wanted block also avoids bytes that are only kept.
//
// Each attempt places the blocks one after the other, the largest first, at the lowest offset that
// blocks which do not move, and blocks placed before, leave free. A block that finds no place goes
// first in the next attempt. Returns false and changes nothing if `attempts` attempts fail, or if
// they take too long.
//
// Takes O(moving x fixed + attempts x moving x moving) steps, and few steps if an attempt fails
// early. It never takes more than kMostRepackSteps and two steps for each block. Sorting the blocks
// does not count as steps. `steps` is set to the number of steps unless it is null.
bool Repack(std::vector<AddressBlock>& blocks, int64_t capacity, bool keep_values, int attempts,
            int64_t* steps = nullptr);

// Repack with `keep_values`, and if that fails Repack without. Faster than both calls, as it looks
// only once for what blocks that do not move leave free. `steps` is set to those of the last
// search.
bool RepackEitherWay(std::vector<AddressBlock>& blocks, int64_t capacity, int attempts,
                     int64_t* steps = nullptr);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_REPACK_H_
