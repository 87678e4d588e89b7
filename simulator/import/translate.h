// Names of one compile in terms of another: which value of the all-HBM module a value of another
// compile of the same function is.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_TRANSLATE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_TRANSLATE_H_

#include <cstdint>
#include <vector>

#include "simulator/import/analyzed_module.h"
#include "simulator/import/match.h"

namespace mallocmuzero {

// By value of `other`: the storage of `all_hbm` that holds the same data, -1 if unknown. Copies
// between memories, slices of a prefetch and ConcatBitcast have none of their own.
std::vector<int32_t> TranslateValues(const AnalyzedModule& all_hbm, const AnalyzedModule& other,
                                     const Match& match);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_TRANSLATE_H_
