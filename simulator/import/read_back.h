// Reads what the compiler made of a mapping: the placement of a recompiled module, in terms of the
// program that the mapping was for.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_READ_BACK_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_READ_BACK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "mallocmuzero/v1/handover_report.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// The placement of a recompiled module, and its price.
struct ReadBack {
  // The placement as a mapping. Accesses of instructions without a match are placed by the
  // intervals around them.
  Mapping mapping;

  // False if no addresses were found for the intervals; then all offsets are 0.
  bool packed = false;

  // For each instruction of the program: 1 if the recompiled module has it, else 0.
  IndexVector<InstructionIndex, uint8_t> matched;

  // Price in cycles of the recompiled module as compiled. Absent if its text has no estimates, as
  // in schedules that the compiler dumps before it generates code.
  absl::optional<double> compiled_cycles;

  // Where the mapping had to deviate from the module, one line each, for people.
  std::vector<std::string> notes;
};

// Reads the recompiled module at `hlo_path`. `all_hbm_path` must be the compile with everything in
// HBM from which the program was imported; it relates the values of the text to buffers.
// InvalidArgument if it is another module, or if the recompiled module has no instruction of the
// program. Errors name the file.
absl::StatusOr<ReadBack> ReadBackModule(const Program& program, const std::string& all_hbm_path,
                                        const std::string& hlo_path);

// `wanted` is the mapping that the module was compiled for; null if there is none to compare with.
v1::ReadBackReport MakeReadBackReport(const Program& program, const ReadBack& read_back,
                                      const Mapping* wanted);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_READ_BACK_H_
