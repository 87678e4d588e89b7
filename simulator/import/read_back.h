// Reads what the compiler made of a mapping: the placement of a recompiled module, in terms of the
// program that the mapping was for.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_READ_BACK_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_READ_BACK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "mallocmuzero/v1/handover_report.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/import/analysis/dataflow.h"

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

// Reads recompiled modules of one program.
class ModuleReader {
 public:
  // `program` must outlive the reader. `all_hbm_path` is only needed if the program has no source,
  // because it is of an older import. It must then be the compile with everything in HBM from which
  // the program was imported. InvalidArgument if it is missing or another module.
  static absl::StatusOr<ModuleReader> Create(const Program& program,
                                             const std::string& all_hbm_path = "");

  // Reads the module at `hlo_path`. InvalidArgument if it has no instruction of the program. Errors
  // name the file.
  absl::StatusOr<ReadBack> Read(const std::string& hlo_path) const;

 private:
  explicit ModuleReader(const Program& program) : program_(&program) {}

  const v1::Program& WithSource() const { return assembled_ ? *assembled_ : program_->proto(); }

  const Program* program_;
  // The structure of the program and its source; null if the program has a source itself.
  std::unique_ptr<const v1::Program> assembled_;
  InPlaceHints hints_;
};

// `wanted` is the mapping that the module was compiled for; null if there is none to compare with.
v1::ReadBackReport MakeReadBackReport(const Program& program, const ReadBack& read_back,
                                      const Mapping* wanted);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_READ_BACK_H_
