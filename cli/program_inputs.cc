#include "cli/program_inputs.h"

#include <string>

#include "absl/status/statusor.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {

absl::StatusOr<Mapping> LoadMappingByName(const std::string& name_or_path, const Program& program) {
  if (name_or_path == kAllHbmMappingName) return AllHbmMapping(program);
  if (name_or_path == kDefaultMappingName) return BaselineMapping(program);
  return LoadMapping(name_or_path, program);
}

}  // namespace mallocmuzero::cli
