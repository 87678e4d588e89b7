// When each storage of a module is in use.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_LIVE_RANGE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_LIVE_RANGE_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "simulator/import/analysis/analyzed_module.h"

namespace mallocmuzero {

// In priced steps, inclusive. A use between two priced steps counts at the later one.
struct LiveRange {
  int32_t first = std::numeric_limits<int32_t>::max();
  int32_t last = -1;
  bool live_in = false;   // a parameter or constant, which is in HBM from the start
  bool live_out = false;  // part of the result
};

// The live range of each storage. If a loop uses a storage from outside, the range extends to the
// end of the loop. A storage that a loop carries is in use at the loop's markers.
std::vector<LiveRange> ComputeLiveRanges(const AnalyzedModule& analyzed);

// The priced step at which a use at `step` counts. The last priced step if none follows.
int32_t PricedIndex(const AnalyzedModule& analyzed, int32_t step);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_LIVE_RANGE_H_
