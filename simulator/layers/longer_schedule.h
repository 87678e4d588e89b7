// The order of the instructions of a program with more layers.

#ifndef MALLOCMUZERO_SIMULATOR_LAYERS_LONGER_SCHEDULE_H_
#define MALLOCMUZERO_SIMULATOR_LAYERS_LONGER_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "base/index.h"
#include "simulator/core/indices.h"
#include "simulator/layers/layer_map.h"

namespace mallocmuzero {

// One instruction of the longer schedule: an instruction of the program, or a copy of one.
struct ScheduledCopy {
  InstructionIndex source;  // in the program
  int32_t copy = 0;         // 0: the instruction itself; 1 to count: a copy
};

// The schedule of the program behind `map`, and `count` copies of the instructions of `layer` that
// the next layer has as well. Copies of one instruction stand between it and the same instruction
// of the next layer, at equal distances from each other.
IndexVector<InstructionIndex, ScheduledCopy> LongerSchedule(const LayerMap& map, int32_t layer,
                                                            int32_t count);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_LAYERS_LONGER_SCHEDULE_H_
