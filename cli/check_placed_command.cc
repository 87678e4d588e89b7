#include <cstdint>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/print_report.h"
#include "cli/program_inputs.h"
#include "cli/table.h"
#include "mallocmuzero/v1/handover_report.pb.h"
#include "mallocmuzero/v1/hardware.pb.h"
#include "mallocmuzero/v1/report.pb.h"
#include "mallocmuzero/xla/hlo.pb.h"
#include "simulator/core/hardware.h"
#include "simulator/place/place.h"
#include "simulator/place_check/check_placed.h"

namespace mallocmuzero::cli {
namespace {

struct CheckPlacedFlags {
  std::string original;
  std::string placed;
  std::string hardware;
  int64_t fast_memory_bytes = 0;
  bool allow_reordering = false;
  bool json = false;
};

v1::PlacedCheckReport MakeReport(const PlacedCheck& check, const PlacedCheckOptions& options) {
  v1::PlacedCheckReport report;
  report.set_valid(check.violations.empty());
  for (const PlacedViolation& violation : check.violations) {
    v1::ValidationReport::Violation* entry = report.add_violations();
    entry->set_rule(std::string(PlacedRuleName(violation.rule)));
    entry->set_message(violation.message);
  }
  report.set_peak_bytes(static_cast<double>(check.peak_bytes));
  report.set_peak_instruction(check.peak_instruction);
  report.set_capacity_bytes(static_cast<double>(options.capacity_bytes));
  return report;
}

std::string CheckText(const PlacedCheck& check, const PlacedCheckOptions& options) {
  std::string text;
  for (const PlacedViolation& violation : check.violations) {
    // The names come from the modules and may contain line breaks. Each violation is printed on one
    // line.
    absl::StrAppend(&text, PlacedRuleName(violation.rule), ": ",
                    absl::StrReplaceAll(violation.message, {{"\n", " "}}), "\n");
  }
  if (check.violations.size() >= kMaxPlacedViolations) {
    absl::StrAppend(&text, "more violations are not listed\n");
  }
  if (!text.empty()) return text;
  absl::StrAppend(&text, "valid: the placed module computes what the original does\n",
                  "fast memory  ", FormatCount(check.peak_bytes), " of ",
                  FormatCount(options.capacity_bytes), " bytes at most");
  if (check.peak_bytes > 0) absl::StrAppend(&text, ", at ", check.peak_instruction);
  return text + "\n";
}

absl::StatusOr<ExitCode> RunCheckPlaced(const CheckPlacedFlags& flags) {
  absl::StatusOr<v1::Hardware> hardware = LoadHardware(flags.hardware);
  if (!hardware.ok()) return hardware.status();
  MMZ_RETURN_IF_ERROR(SetFastMemoryBytes(flags.fast_memory_bytes, *hardware));
  const absl::StatusOr<xla::HloModuleProto> original = place::LoadModule(flags.original);
  if (!original.ok()) return original.status();
  const absl::StatusOr<xla::HloModuleProto> placed = place::LoadModule(flags.placed);
  if (!placed.ok()) return placed.status();
  const PlacedCheckOptions options = {
      .fast_memory_space = hardware->fast_memory_space(),
      .capacity_bytes = hardware->fast_memory_bytes(),
      .alignment_bytes = hardware->fast_memory_alignment_bytes(),
      .allow_reordering = flags.allow_reordering,
  };
  const PlacedCheck check = ExaminePlaced(*original, *placed, options);
  const ExitCode verdict = check.violations.empty() ? ExitCode::kSuccess : ExitCode::kFailure;
  return flags.json ? PrintJson(MakeReport(check, options), verdict)
                    : PrintText(CheckText(check, options), verdict);
}

}  // namespace

void AddCheckPlacedCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "check-placed");
  const auto flags = std::make_shared<CheckPlacedFlags>();
  command
      ->add_option("--original", flags->original,
                   "The module with everything in HBM, a serialised HloModuleProto.")
      ->type_name("FILE")
      ->required();
  command->add_option("--placed", flags->placed, "The placed module, a serialised HloModuleProto.")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--hardware", flags->hardware,
                   "The name of the chip, such as tpu_v6e, or a hardware file.")
      ->type_name("NAME|FILE")
      ->required();
  AddFastMemoryBytesFlag(*command, flags->fast_memory_bytes);
  command->add_flag("--allow-reordering", flags->allow_reordering,
                    "Accepts another order of instructions if each still comes after the "
                    "instructions that it needs. By default the order must be the same.");
  AddJsonFlag(*command, "PlacedCheckReport", flags->json);
  command->footer("Prints one line for each violation; exits 1 if there is one.");
  command->callback([flags, &body] { body.run = [flags] { return RunCheckPlaced(*flags); }; });
}

}  // namespace mallocmuzero::cli
