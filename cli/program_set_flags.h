// Flags that say which programs a command plays.

#ifndef MALLOCMUZERO_CLI_PROGRAM_SET_FLAGS_H_
#define MALLOCMUZERO_CLI_PROGRAM_SET_FLAGS_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "env/program_set.h"

namespace mallocmuzero::cli {

struct ProgramSetFlags {
  std::string program;
  std::string workloads;
  std::string split;
  std::vector<double> fast_memory;  // shares; empty: as it is
};

// Adds --program and --workloads, of which the command line must have one, --split and
// --fast-memory. `verb` says in their help what the command does with the programs, such as "train
// on". `flags` must outlive the parsing.
void AddProgramSetFlags(CLI::App& command, const std::string& verb, ProgramSetFlags& flags);

// The programs, each with every size of fast memory. Programs that leave nothing to decide or need
// more fast memory are left out; a line on stderr names them. Errors name the flag or the file.
absl::StatusOr<ProgramSet> LoadProgramSet(const ProgramSetFlags& flags);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_PROGRAM_SET_FLAGS_H_
