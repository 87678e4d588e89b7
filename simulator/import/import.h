// HLO, text or messages, of several compiles of one function to a program.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_IMPORT_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_IMPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

struct ImportOptions {
  // Compile with memory-space assignment off: gives instructions, buffers and the all-HBM cycles.
  std::string all_hbm_path;
  // The compiler's own placement; may be empty.
  std::string default_path;
  // Compiles under other placements, for the latency table.
  std::vector<std::string> sample_paths;
  // Compiles of placed modules (simulator/place). Where one has a set of an instruction's accesses
  // in fast memory that other compiles have, too, its estimate stands: the compiler chose the tiles
  // for it.
  std::vector<std::string> placed_paths;
  // Empty: the name of the HLO module.
  std::string program_name;
};

// Reads the files (as ReadModule does) and builds a complete program: structure, latency table,
// calibration, baseline, fingerprint. Errors name file, line, column and what was expected.
absl::StatusOr<v1::Program> ImportProgram(const ImportOptions& options,
                                          const v1::Hardware& hardware);

// What `import` reports of a program.
v1::ImportReport MakeImportReport(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_IMPORT_H_
