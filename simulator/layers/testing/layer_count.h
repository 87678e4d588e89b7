// Counts the layers that were found in a program.

#ifndef MALLOCMUZERO_SIMULATOR_LAYERS_TESTING_LAYER_COUNT_H_
#define MALLOCMUZERO_SIMULATOR_LAYERS_TESTING_LAYER_COUNT_H_

#include <algorithm>
#include <cstddef>

#include "simulator/layers/layer_map.h"

namespace mallocmuzero::testing {

// The length of the longest chain of instructions; 0 if the program has no layers.
inline size_t LayerCount(const LayerMap& map) {
  size_t longest = 0;
  for (const LayerPlace& place : map.instructions) {
    if (place.chain < 0) continue;
    longest = std::max(longest, map.instruction_chains[place.chain].members.size());
  }
  return longest;
}

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_SIMULATOR_LAYERS_TESTING_LAYER_COUNT_H_
