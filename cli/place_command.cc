#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/message_file.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/price_report.h"
#include "cli/print_report.h"
#include "cli/program_inputs.h"
#include "cli/table.h"
#include "mallocmuzero/v1/handover_report.pb.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "optimize/checked_place.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"
#include "simulator/place/place.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero::cli {
namespace {

struct PlaceFlags {
  std::string program;
  std::string mapping;
  std::string module;
  std::string output;
  bool json = false;
};

absl::Status CheckMapping(const PlaceFlags& flags, const Program& program, const Mapping& mapping) {
  const std::vector<Violation> violations = Validate(program, mapping);
  if (violations.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(flags.mapping, ": breaks the rule ", RuleName(violations[0].rule), ": ",
                   violations[0].message, " (violation 1 of ", violations.size(), ")"));
}

v1::PlaceReport MakeReport(const Program& program, const Mapping& mapping,
                           const place::PlacedModule& placed) {
  v1::PlaceReport report;
  report.set_program(program.proto().name());
  report.set_arrays_in_fast_memory(placed.arrays_in_fast_memory);
  report.set_copies_in(placed.copies_in);
  report.set_copies_out(placed.copies_out);
  report.set_packed_bytes(static_cast<double>(placed.packed_bytes));
  report.set_live_bytes(static_cast<double>(placed.live_bytes));
  report.set_fast_memory_bytes(static_cast<double>(program.hardware().fast_memory_bytes()));
  report.set_mapping_cycles(Simulate(program, mapping).total_cycles);
  if (program.baseline() != nullptr) {
    report.set_default_cycles(program.baseline()->compiled_cycles);
  }
  return report;
}

std::string PlaceText(const v1::PlaceReport& report, const std::string& output) {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"in fast memory",
       absl::StrCat(FormatCount(report.arrays_in_fast_memory()), " arrays are made there, ",
                    FormatCount(report.copies_in()), " copied in, ",
                    FormatCount(report.copies_out()), " copied out")},
      {"fast memory", absl::StrCat(FormatMebibytes(report.packed_bytes()), " MiB packed, ",
                                   FormatMebibytes(report.live_bytes()), " MiB live at once, of ",
                                   FormatMebibytes(report.fast_memory_bytes()), " MiB")}};
  facts.push_back({"promised", ComparedCycles(report.mapping_cycles(), report.has_default_cycles(),
                                              report.default_cycles())});
  return absl::StrCat(report.program(), " as placed\n\n", FactList(facts), "\nwrote ", output,
                      "\n");
}

absl::StatusOr<ExitCode> RunPlace(const PlaceFlags& flags) {
  MMZ_RETURN_IF_ERROR(
      CheckOutputIsNotRead(flags.output, {flags.program, flags.mapping, flags.module}));
  MMZ_RETURN_IF_ERROR(CheckOutputHasPlace(flags.output));
  const absl::StatusOr<Program> program = LoadProgram(flags.program);
  if (!program.ok()) return program.status();
  const absl::StatusOr<Mapping> mapping = LoadMappingByName(flags.mapping, *program);
  if (!mapping.ok()) return mapping.status();
  MMZ_RETURN_IF_ERROR(
      CheckHasAddresses(flags.mapping, *mapping, flags.program, *program, "placed"));
  MMZ_RETURN_IF_ERROR(CheckMapping(flags, *program, *mapping));
  const absl::StatusOr<xla::HloModuleProto> module = place::LoadModule(flags.module);
  if (!module.ok()) return module.status();
  const absl::StatusOr<place::PlacedModule> placed =
      PlaceAndCheck(*program, *mapping, *module, flags.module);
  if (!placed.ok()) return placed.status();
  const absl::Status written =
      WriteFileAtomically(flags.output, SerializeDeterministically(placed->module));
  if (!written.ok()) return OutputError(written);
  const v1::PlaceReport report = MakeReport(*program, *mapping, *placed);
  return flags.json ? PrintJson(report) : PrintText(PlaceText(report, flags.output));
}

}  // namespace

void AddPlaceCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "place");
  const auto flags = std::make_shared<PlaceFlags>();
  AddProgramFlag(*command, flags->program)->required();
  AddMappingFlag(*command, flags->mapping);
  command
      ->add_option("--module", flags->module,
                   "The compile with everything in HBM that the program was imported from, a "
                   "serialised HloModuleProto.")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--output", flags->output,
                   "The file to write: the placed module, a serialised HloModuleProto. It is "
                   "compressed if its name ends in .zst.")
      ->type_name("FILE")
      ->required();
  AddJsonFlag(*command, "PlaceReport", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunPlace(*flags); }; });
}

}  // namespace mallocmuzero::cli
