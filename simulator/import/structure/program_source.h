// Analyses again the compiled module that a program was imported from, and relates the module's
// instructions and values to the program's instructions and buffers.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_PROGRAM_SOURCE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_PROGRAM_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/core/indices.h"
#include "simulator/hlo/module.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/analysis/dataflow.h"
#include "simulator/import/structure/assemble.h"

namespace mallocmuzero {

// A program's all-HBM module, analysed as at its import.
struct ProgramSource {
  // The compile with everything in HBM. Its priced steps are the program's instructions, in the
  // same order.
  std::unique_ptr<AnalyzedModule> all_hbm;

  // The structure of `all_hbm`, equal to the program's, and the buffer of each storage.
  Assembly assembly;

  // In-place updates that hold in every compile of the program.
  InPlaceHints hints;

  // The buffer of a value of `all_hbm`, or -1 if it has none.
  BufferIndex BufferOf(ValueId value) const {
    return BufferIndex(assembly.buffer_of_storage[all_hbm->flow.StorageOf(value)]);
  }

  // The first instruction of the program that is at or after a step of the schedule of `all_hbm`.
  InstructionIndex PricedAtOrAfter(int32_t step) const {
    return InstructionIndex(all_hbm->priced_at_or_after[step]);
  }
};

// Analyses `all_hbm`, the module that `program` was imported from. `path` is used in messages.
// InvalidArgument, with `path` in the message, if the program was imported from another module.
absl::StatusOr<ProgramSource> AnalyzeProgramSource(const v1::Program& program, hlo::Module all_hbm,
                                                   const std::string& path);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_PROGRAM_SOURCE_H_
