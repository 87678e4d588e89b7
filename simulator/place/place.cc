#include "simulator/place/place.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "simulator/core/file_io.h"
#include "simulator/hlo/print_module.h"
#include "simulator/import/program_source.h"
#include "simulator/place/placer.h"

namespace mallocmuzero::place {

absl::StatusOr<xla::HloModuleProto> LoadModule(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  xla::HloModuleProto module;
  if (module.ParseFromString(*bytes) && !module.computations().empty()) return module;
  return absl::InvalidArgumentError(absl::StrCat(
      path,
      ": expected a serialised HloModuleProto, as `compile --no-assignment --module` writes it"));
}

absl::StatusOr<PlacedModule> PlaceModule(const Program& program, const Mapping& mapping,
                                         xla::HloModuleProto all_hbm, const std::string& path) {
  absl::StatusOr<std::string> text = hlo::PrintModule(all_hbm);
  if (!text.ok()) return text.status();
  absl::StatusOr<hlo::Module> module = hlo::ParseModule(*std::move(text), path);
  if (!module.ok()) return module.status();
  absl::StatusOr<ProgramSource> source =
      AnalyzeProgramSource(program.proto(), *std::move(module), path);
  if (!source.ok()) return source.status();
  return Placer(program, mapping, *source, std::move(all_hbm)).Run();
}

}  // namespace mallocmuzero::place
