#include "cli/program_inputs.h"

#include <cstdint>
#include <limits>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/number_flag.h"
#include "mallocmuzero/v1/hardware.pb.h"
#include "simulator/core/hardware.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {

CLI::Option* AddProgramFlag(CLI::App& command, std::string& path) {
  return command.add_option("--program", path, "The program file, which `import` wrote.")
      ->type_name("FILE");
}

void AddMappingFlag(CLI::App& command, std::string& name_or_path) {
  command.add_option("--mapping", name_or_path, kMappingHelp)->type_name("NAME|FILE")->required();
}

void AddFastMemoryBytesFlag(CLI::App& command, int64_t& bytes) {
  command
      .add_option("--fast-memory-bytes", bytes,
                  "The bytes of fast memory that the compiler had for tensors, such as under "
                  "another xla_tpu_scoped_vmem_limit_kib. The default is the size in the hardware "
                  "file.")
      ->type_name("BYTES")
      ->check(WholeNumber(1, std::numeric_limits<int64_t>::max()));
}

absl::Status SetFastMemoryBytes(int64_t bytes, v1::Hardware& hardware) {
  if (bytes == 0) return absl::OkStatus();
  hardware.set_fast_memory_bytes(bytes);
  return CheckHardware(hardware, "--fast-memory-bytes");
}

absl::StatusOr<Mapping> LoadMappingByName(const std::string& name_or_path, const Program& program) {
  if (name_or_path == kAllHbmMappingName) return AllHbmMapping(program);
  if (name_or_path == kDefaultMappingName) return BaselineMapping(program);
  absl::StatusOr<Mapping> mapping = LoadMapping(name_or_path, program);
  if (!absl::IsNotFound(mapping.status())) return mapping;
  // It may be a mistyped name.
  return absl::NotFoundError(absl::StrCat(mapping.status().message(), "; a mapping file, ",
                                          kAllHbmMappingName, " or ", kDefaultMappingName,
                                          " expected"));
}

bool HasAddresses(const std::string& name_or_path, const Mapping& mapping, const Program& program) {
  const bool is_default =
      name_or_path == kDefaultMappingName || mapping.solver == kDefaultMappingName;
  return !is_default || program.baseline() == nullptr || program.baseline()->packed;
}

absl::Status CheckHasAddresses(const std::string& name_or_path, const Mapping& mapping,
                               const std::string& program_path, const Program& program,
                               absl::string_view cannot_be) {
  if (HasAddresses(name_or_path, mapping, program)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(program_path, ": the default has no addresses (its intervals could not be ",
                   "packed), so it cannot be ", cannot_be));
}

}  // namespace mallocmuzero::cli
