// Notes about a module that is probably not what the user meant to give.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_MODULE_NOTES_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_MODULE_NOTES_H_

#include <string>
#include <vector>

#include "mallocmuzero/v1/hardware.pb.h"
#include "simulator/import/analysis/analyzed_module.h"

namespace mallocmuzero {

// The notes are, as far as they are true:
// - No instruction has the compiler's estimate, so that all cycles are of the roofline.
// - Arrays are in a memory space that is the fast memory of other built-in chips and not of
//   `hardware`. A module does not name its chip, and chips with one space cannot be told apart.
std::vector<std::string> ModuleNotes(const AnalyzedModule& analyzed, const v1::Hardware& hardware);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_MODULE_NOTES_H_
