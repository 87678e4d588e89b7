// Reads the placement of a recompiled module back as a mapping of the program that the module was
// compiled from.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_READ_BACK_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_READ_BACK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

struct ReadBack {
  // Accesses of instructions without a match are in the memory that the intervals around them
  // imply.
  Mapping mapping;

  // False if the intervals could not be packed into addresses; all offsets are then 0.
  bool packed = false;

  // By instruction of the program: whether the recompiled module has the instruction.
  std::vector<bool> matched;

  // Price of the recompiled module as it stands, cycles. Absent if its text has no estimates, as
  // the schedules that the compiler dumps before it generates code.
  absl::optional<double> compiled_cycles;

  // Assumptions that were made, one line each, for people.
  std::vector<std::string> notes;
};

// Reads the module at `hlo_path` back. `all_hbm_path` is the compile with everything in HBM that
// the program was imported from: it says which value of the text is which buffer. InvalidArgument
// if it is another one, or if the module has no instruction of the program. Errors name the file.
absl::StatusOr<ReadBack> ReadBackModule(const Program& program, const std::string& all_hbm_path,
                                        const std::string& hlo_path);

// `wanted`: the mapping the module was compiled for, null if there is none to compare with.
v1::ReadBackReport MakeReadBackReport(const Program& program, const ReadBack& read_back,
                                      const Mapping* wanted);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_READ_BACK_H_
