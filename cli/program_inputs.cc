#include "cli/program_inputs.h"

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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

}  // namespace mallocmuzero::cli
