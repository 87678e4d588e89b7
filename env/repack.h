// Other addresses for what is in fast memory, so that free bytes in pieces become one place.

#ifndef MALLOCMUZERO_ENV_REPACK_H_
#define MALLOCMUZERO_ENV_REPACK_H_

#include <cstdint>
#include <vector>

namespace mallocmuzero {

// Bytes that are taken for some instructions: a rectangle of time and addresses.
struct AddressBlock {
  int64_t offset = 0;  // bytes
  int64_t bytes = 0;
  int32_t first = 0;  // instructions for which the bytes are taken, inclusive
  int32_t last = 0;
  int32_t kept_until = 0;  // up to here they still hold a value that is used again; at least `last`
  bool moves = false;
};

// Offsets for the blocks that move, such that no two blocks have a byte at one time. The last block
// is the one that a place is wanted for; it moves. `keep_values`: nor has the wanted block a byte
// that is free but holds a value. One after the other, the largest first, the blocks go as low as
// those leave room that do not move or have gone before; one that finds no place goes first in the
// next attempt. False, with the blocks as they were, if `attempts` of them fail.
// In O(moving x blocks + attempts x moving x neighbours).
bool Repack(std::vector<AddressBlock>& blocks, int64_t capacity, bool keep_values, int attempts);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_REPACK_H_
