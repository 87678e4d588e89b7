// The part of a program that says which instructions and values of its all-HBM compile it has
// (v1::Source).

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_SOURCE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_SOURCE_H_

#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/analysis/dataflow.h"
#include "simulator/import/structure/assemble.h"

namespace mallocmuzero {

// Fills in the instructions, loops and calls of assembly.program.source. `assembly` must have the
// buffers of `all_hbm`.
void AddSource(const AnalyzedModule& all_hbm, Assembly& assembly);

// The in-place updates that hold in every compile of the program. It must have a source.
InPlaceHints HintsFromSource(const v1::Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_SOURCE_H_
