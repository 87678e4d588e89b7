// Finds the buffers of a program in another compile of the same function.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_MATCHING_TRANSLATE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_MATCHING_TRANSLATE_H_

#include <cstdint>
#include <vector>

#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/matching/match.h"

namespace mallocmuzero {

// For each value of `other`: the buffer of `program` that holds the same data, or -1 if it is
// unknown or there is none. Copies between memories, slices of a prefetch and ConcatBitcast have no
// buffer of their own. The program must have a source.
std::vector<int32_t> TranslateValues(const v1::Program& program, const AnalyzedModule& other,
                                     const Match& match);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_MATCHING_TRANSLATE_H_
