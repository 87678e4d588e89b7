// The compiler's default placement as a mapping of the program.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_H_

#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/analyzed_module.h"
#include "simulator/import/assemble.h"
#include "simulator/import/match.h"

namespace mallocmuzero {

// Intervals, addresses, placement of each access, and the price of the default module as it stands.
// mapping_cycles and the program's hash are left to the caller, who can simulate the whole program.
// `notes` lists the assumptions.
v1::Baseline MakeBaseline(const Assembly& assembly, const AnalyzedModule& all_hbm,
                          const AnalyzedModule& default_module, const Match& match);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_BASELINE_H_
