// From the analysed all-HBM module to the structure of a program: instructions, buffers with live
// ranges, accesses, loops, carried groups. Latencies and the baseline are added elsewhere.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ASSEMBLE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ASSEMBLE_H_

#include <cstdint>
#include <vector>

#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/import/analyzed_module.h"

namespace mallocmuzero {

struct Assembly {
  // Instructions (one for each AnalyzedModule::priced, same order), accesses, tensors, buffers,
  // carried groups, loops, hardware, unknown opcodes, notes.
  v1::Program program;

  // By storage of the all-HBM module: its buffer, or -1.
  std::vector<int32_t> buffer_of_storage;
};

Assembly Assemble(const AnalyzedModule& all_hbm, const v1::Hardware& hardware);

// Whether an array in that layout can be placed: it is in HBM or fast memory, not in one of the
// other memories (`S(2)` sync flags, `S(6)` scalars, ...), and has a size.
bool IsPlaceable(const hlo::Shape& shape, const v1::Hardware& hardware);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ASSEMBLE_H_
