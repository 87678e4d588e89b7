// Finds the values that a placed module has in fast memory, and how long each lives there.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_FAST_MEMORY_VALUES_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_FAST_MEMORY_VALUES_H_

#include <cstdint>
#include <vector>

#include "simulator/hlo/module.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/place/packing.h"

namespace mallocmuzero::place {

// Lifetimes follow XLA's HloLiveRange (xla/hlo/utils/hlo_live_range.cc): tuples and their elements
// only pass values on; all other instructions use their operands. `all_hbm` is the module that was
// placed. If it lists an operand and a result as aliasing, the result takes over the operand's
// bytes, provided that the operand's value was made by the operand itself and ends there; the
// compiler does the same.
std::vector<PackedValue> FastMemoryValues(const AnalyzedModule& placed, const hlo::Module& all_hbm,
                                          int64_t fast_memory_space);

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_FAST_MEMORY_VALUES_H_
