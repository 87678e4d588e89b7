// When each storage of a module is in use.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_LIVE_RANGE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_LIVE_RANGE_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "simulator/import/analyzed_module.h"

namespace mallocmuzero {

// In priced steps, inclusive. What happens between two priced steps counts at the later one.
struct LiveRange {
  int32_t first = std::numeric_limits<int32_t>::max();
  int32_t last = -1;
  bool live_in = false;   // a parameter or constant: in HBM from the start
  bool live_out = false;  // part of the result
};

// By storage. A use inside a loop of something from outside lasts until the loop ends; what a loop
// carries is in use at the loop's markers.
std::vector<LiveRange> ComputeLiveRanges(const AnalyzedModule& analyzed);

// The priced step at which something at `step` happens; the last one for what stands behind it.
int32_t PricedIndex(const AnalyzedModule& analyzed, int32_t step);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_LIVE_RANGE_H_
