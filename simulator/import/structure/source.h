// The part of a program that says which instructions and values of its all-HBM compile it has
// (v1::Source).

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_SOURCE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_SOURCE_H_

#include <vector>

#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/analysis/dataflow.h"

namespace mallocmuzero {

// The pairs that `listing`, an instruction of a compiled module, lists as aliases, and that share a
// buffer in the program. `instruction` is the same instruction in the program.
std::vector<InPlacePair> SharedListedPairs(const v1::Program& program,
                                           const v1::Instruction& instruction,
                                           const hlo::Instruction& listing);

// Fills in the instructions, loops and calls of program.source. The program must have the
// instructions and accesses of `all_hbm`.
void AddSource(const AnalyzedModule& all_hbm, v1::Program& program);

// The in-place updates that hold in every compile of the program. It must have a source.
InPlaceHints HintsFromSource(const v1::Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_SOURCE_H_
