#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/number_flag.h"
#include "cli/price_report.h"
#include "cli/print_report.h"
#include "cli/program_inputs.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/hardware.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/import/analysis/price_module.h"

namespace mallocmuzero::cli {
namespace {

constexpr int kMostListed = 1'000'000;

struct SimulateFlags {
  std::string hlo;
  std::string hardware;
  std::string program;
  std::string mapping = kAllHbmMappingName;
  int limit = 10;
  bool json = false;
};

// `what` says what was priced, such as "as compiled".
absl::StatusOr<ExitCode> Print(const SimulateFlags& flags, const v1::PriceReport& report,
                               absl::string_view what) {
  if (flags.json) return PrintJson(report);
  return PrintText(absl::StrCat(report.name(), " on ", report.hardware(), " ", what, "\n\n",
                                PriceText(report), CostliestText(report), PriceNotes(report)));
}

absl::StatusOr<ExitCode> SimulateModule(const SimulateFlags& flags) {
  const absl::StatusOr<v1::Hardware> hardware = LoadHardware(flags.hardware);
  if (!hardware.ok()) return hardware.status();
  const absl::StatusOr<v1::PriceReport> report = PriceModule(flags.hlo, *hardware, flags.limit);
  if (!report.ok()) return report.status();
  return Print(flags, *report, "as compiled");
}

absl::StatusOr<ExitCode> SimulateProgram(const SimulateFlags& flags) {
  const absl::StatusOr<Program> program = LoadProgram(flags.program);
  if (!program.ok()) return program.status();
  const absl::StatusOr<Mapping> mapping = LoadMappingByName(flags.mapping, *program);
  if (!mapping.ok()) return mapping.status();
  return Print(flags, MakePriceReport(*program, *mapping, flags.limit),
               absl::StrCat("under the mapping ", flags.mapping));
}

}  // namespace

void AddSimulateCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "simulate");
  const auto flags = std::make_shared<SimulateFlags>();
  CLI::Option* hlo =
      command->add_option("--hlo", flags->hlo, "The HLO of a compiled module, text or protobuf.")
          ->type_name("FILE");
  CLI::Option* hardware =
      command
          ->add_option(
              "--hardware", flags->hardware,
              "The name of the chip, such as tpu_v6e, or a hardware file. It goes with --hlo.")
          ->type_name("NAME|FILE");
  CLI::Option* program = AddProgramFlag(*command, flags->program);
  command
      ->add_option("--mapping", flags->mapping,
                   absl::StrCat(kMappingHelp, " The default is all_hbm."))
      ->type_name("NAME|FILE")
      ->needs(program);
  command
      ->add_option("--limit", flags->limit,
                   "Lists at most this number of the instructions that take most cycles. The "
                   "default is 10.")
      ->type_name("N")
      ->check(WholeNumber(0, kMostListed));
  AddJsonFlag(*command, "PriceReport", flags->json);
  hlo->needs(hardware)->excludes(program);
  hardware->needs(hlo);
  command->callback([flags, hlo, program, &body] {
    if (hlo->empty() && program->empty()) {
      throw CLI::ValidationError("simulate", "one of --hlo and --program is required");
    }
    body.run = [flags, from_module = !hlo->empty()] {
      return from_module ? SimulateModule(*flags) : SimulateProgram(*flags);
    };
  });
}

}  // namespace mallocmuzero::cli
