// The place of an item in a shard.

#ifndef MALLOCMUZERO_REPLAY_SERVICE_SLOT_H_
#define MALLOCMUZERO_REPLAY_SERVICE_SLOT_H_

#include <cstdint>

namespace mallocmuzero {

// The index of a stored item in the arrays of a shard. It is used again once the item has left.
using Slot = uint32_t;

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_REPLAY_SERVICE_SLOT_H_
