// Translates the values of one compile into those of another: finds the value of the all-HBM module
// that corresponds to a value of another compile of the same function.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_MATCHING_TRANSLATE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_MATCHING_TRANSLATE_H_

#include <cstdint>
#include <vector>

#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/matching/match.h"

namespace mallocmuzero {

// For each value of `other`: the storage of `all_hbm` that holds the same data, or -1 if it is
// unknown. Copies between memories, slices of a prefetch and ConcatBitcast have no storage of their
// own in all_hbm.
std::vector<int32_t> TranslateValues(const AnalyzedModule& all_hbm, const AnalyzedModule& other,
                                     const Match& match);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_MATCHING_TRANSLATE_H_
