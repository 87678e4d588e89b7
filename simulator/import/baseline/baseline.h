// The default as a mapping of the program.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_BASELINE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_BASELINE_H_

#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/matching/match.h"

namespace mallocmuzero {

// Makes intervals, addresses, the memory of each access, and the price of the default module as
// compiled. The caller must set mapping_cycles and the program's hash, because both need the whole
// program. `notes` lists, for people, where the mapping had to deviate from the module. The
// program must have a source.
v1::Baseline MakeBaseline(const v1::Program& program, const AnalyzedModule& default_module,
                          const Match& match);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_BASELINE_H_
