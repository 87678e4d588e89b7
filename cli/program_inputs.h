// Flags that several subcommands share.

#ifndef MALLOCMUZERO_CLI_PROGRAM_INPUTS_H_
#define MALLOCMUZERO_CLI_PROGRAM_INPUTS_H_

#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mallocmuzero/v1/hardware.pb.h"
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

// Adds the flag --fast-memory-bytes, which is 0 if it is not given.
void AddFastMemoryBytesFlag(CLI::App& command, int64_t& bytes);

// Gives the chip the bytes of AddFastMemoryBytesFlag, if they are not 0. InvalidArgument if no chip
// can have them.
absl::Status SetFastMemoryBytes(int64_t bytes, v1::Hardware& hardware);

// The mapping that a --mapping flag names: "all_hbm", "default" or a file. A file of one of these
// two names is given as "./default".
absl::StatusOr<Mapping> LoadMappingByName(const std::string& name_or_path, const Program& program);

// Whether the intervals of the mapping that a --mapping flag names have addresses. The default has
// none if its intervals could not be packed, and neither has a file in which `map` has kept it.
bool HasAddresses(const std::string& name_or_path, const Mapping& mapping, const Program& program);

// FailedPrecondition, with the program's path and what cannot be done, if HasAddresses is false.
absl::Status CheckHasAddresses(const std::string& name_or_path, const Mapping& mapping,
                               const std::string& program_path, const Program& program,
                               absl::string_view cannot_be);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_PROGRAM_INPUTS_H_
