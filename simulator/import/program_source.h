// The compiled module that a program was imported from, analysed again: which instruction of the
// module is which of the program, and which value of the module is which buffer.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_PROGRAM_SOURCE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_PROGRAM_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/hlo/module.h"
#include "simulator/import/analyzed_module.h"
#include "simulator/import/assemble.h"
#include "simulator/import/dataflow.h"

namespace mallocmuzero {

struct ProgramSource {
  // The compile with everything in HBM. Its priced steps are the program's instructions.
  std::unique_ptr<AnalyzedModule> all_hbm;

  // Its structure, equal to the program's, and the buffer of each storage.
  Assembly assembly;

  // In-place updates that hold in every compile of the program.
  InPlaceHints hints;

  // The buffer of a value of the module, or -1 if it has none.
  int32_t BufferOf(ValueId value) const {
    return assembly.buffer_of_storage[all_hbm->flow.StorageOf(value)];
  }
};

// Analyses `all_hbm`, the module that `program` was imported from; `path` is used in messages.
// InvalidArgument that names `path` if it is another module.
absl::StatusOr<ProgramSource> AnalyzeProgramSource(const v1::Program& program, hlo::Module all_hbm,
                                                   const std::string& path);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_PROGRAM_SOURCE_H_
