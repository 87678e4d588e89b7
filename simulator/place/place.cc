#include "simulator/place/place.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "google/protobuf/stubs/logging.h"
#include "simulator/hlo/print_module.h"
#include "simulator/import/analysis/analyzed_module.h"
#include "simulator/import/structure/program_source.h"
#include "simulator/place/fast_memory_values.h"
#include "simulator/place/packing.h"
#include "simulator/place/placer.h"

namespace mallocmuzero::place {

absl::StatusOr<xla::HloModuleProto> LoadModule(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  xla::HloModuleProto module;
  const google::protobuf::LogSilencer silencer;  // the error below reports the problem in one line
  if (ParseBytes(*bytes, module) && !module.computations().empty()) return module;
  return absl::InvalidArgumentError(absl::StrCat(
      path,
      ": expected a serialised HloModuleProto, as `compile --no-assignment --module` writes it"));
}

namespace {

absl::StatusOr<hlo::Module> Parse(const xla::HloModuleProto& module, const std::string& path) {
  absl::StatusOr<std::string> text = hlo::PrintModule(module);
  if (!text.ok()) return text.status();
  return hlo::ParseModule(*std::move(text), path);
}

absl::Status PackValues(const hlo::Module& all_hbm, const v1::Hardware& hardware,
                        const std::string& path, PlacedModule& placed) {
  absl::StatusOr<hlo::Module> module = Parse(placed.module, path);
  if (!module.ok()) return module.status();
  const auto analyzed = AnalyzeModule(*std::move(module), path, InPlaceHints());
  if (!analyzed.ok()) return analyzed.status();
  const PackedHeap heap = Pack(FastMemoryValues(**analyzed, all_hbm, hardware.fast_memory_space()),
                               hardware.fast_memory_alignment_bytes());
  placed.packed_bytes = heap.packed_bytes;
  placed.live_bytes = heap.live_bytes;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PlacedModule> PlaceModule(const Program& program, const Mapping& mapping,
                                         xla::HloModuleProto all_hbm, const std::string& path) {
  absl::StatusOr<hlo::Module> module = Parse(all_hbm, path);
  if (!module.ok()) return module.status();
  absl::StatusOr<ProgramSource> source =
      AnalyzeProgramSource(program.proto(), *std::move(module), path);
  if (!source.ok()) return source.status();
  absl::StatusOr<PlacedModule> placed = Placer(program, mapping, *source, std::move(all_hbm)).Run();
  if (!placed.ok()) return placed;
  MMZ_RETURN_IF_ERROR(PackValues(source->all_hbm->module, program.hardware(), path, *placed));
  return placed;
}

}  // namespace mallocmuzero::place
