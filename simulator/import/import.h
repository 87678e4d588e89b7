// Makes a program from several compiles of one function, in HLO text or XLA's messages.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_IMPORT_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_IMPORT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_io.h"
#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/program.pb.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// The files to import. Each is HLO text or one of XLA's messages, plain or zstd.
struct ImportOptions {
  // The compile with memory-space assignment off. It determines instructions, buffers and the
  // cycles with everything in HBM.
  std::string all_hbm_path;
  // The compile by default; may be empty.
  std::string default_path;
  // Compiles under other placements, from which the latency table is fitted.
  std::vector<std::string> sample_paths;
  // Compiles of placed modules (simulator/place). If such a compile and another one have the same
  // accesses of an instruction in fast memory, only the estimate of the former is used, because the
  // compiler chose the tiles for that placement.
  std::vector<std::string> placed_paths;
  // Name of the program. If it is empty, the name of the HLO module is used.
  std::string program_name;

  // Returns the decompressed bytes of the file at a path. Another function than ReadFile lets the
  // paths be names of bytes in memory.
  std::function<absl::StatusOr<std::string>(const std::string& path)> read_file = ReadFile;

  // Asked before each module is read, analysed and matched, and before each fit of the estimates of
  // a class of instructions: true ends the import with Cancelled.
  std::function<bool()> stop = [] { return false; };
};

// Reads the files (as ReadModule does) and makes a complete program: structure, latency table,
// calibration, baseline, fingerprint. Errors name file, line, column and what was expected.
absl::StatusOr<v1::Program> ImportProgram(const ImportOptions& options,
                                          const v1::Hardware& hardware);

// The report that the command `import` prints about a program.
v1::ImportReport MakeImportReport(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_IMPORT_H_
