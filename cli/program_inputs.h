// Flags that several subcommands share.

#ifndef MALLOCMUZERO_CLI_PROGRAM_INPUTS_H_
#define MALLOCMUZERO_CLI_PROGRAM_INPUTS_H_

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {

// The mappings that a --mapping flag names without a file.
inline constexpr char kAllHbmMappingName[] = "all_hbm";
inline constexpr char kDefaultMappingName[] = "default";

// Help text of a --mapping flag.
inline constexpr char kMappingHelp[] =
    "A mapping file, all_hbm (everything in HBM), or default (the compiler's own placement, which "
    "is stored in the program).";

// Adds the flag --program with the path of a program file, and returns it.
CLI::Option* AddProgramFlag(CLI::App& command, std::string& path);

// Adds the required flag --mapping, whose value LoadMappingByName takes.
void AddMappingFlag(CLI::App& command, std::string& name_or_path);

// The mapping that a --mapping flag names: "all_hbm", "default" or a file. A file of one of these
// two names is given as "./default".
absl::StatusOr<Mapping> LoadMappingByName(const std::string& name_or_path, const Program& program);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_PROGRAM_INPUTS_H_
