// Makes the structure of a program from the analysed all-HBM module: instructions, buffers with
// live ranges, accesses, loops, carried groups. Latencies and the baseline are added elsewhere.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_ASSEMBLE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_ASSEMBLE_H_

#include <cstdint>
#include <vector>

#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/analysis/analyzed_module.h"

namespace mallocmuzero {

// A program without latencies and baseline, and where its buffers are in the module.
struct Assembly {
  // Has instructions (one for each AnalyzedModule::priced, in the same order), accesses, tensors,
  // buffers, carried groups, loops, hardware, unknown opcodes, notes and source.
  v1::Program program;

  // For each storage of the all-HBM module: its buffer, or -1 if it has none.
  std::vector<int32_t> buffer_of_storage;
};

// Assembles the structure of the program from the compile with everything in HBM.
Assembly Assemble(const AnalyzedModule& all_hbm, const v1::Hardware& hardware);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_STRUCTURE_ASSEMBLE_H_
