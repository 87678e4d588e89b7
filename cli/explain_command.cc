#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/explain_report.h"
#include "cli/number_flag.h"
#include "cli/print_report.h"
#include "cli/program_inputs.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {
namespace {

constexpr int kMostReasons = 1'000'000;

struct ExplainFlags {
  std::string program;
  std::string mapping;
  std::string against = kDefaultMappingName;
  int limit = 10;
  bool json = false;
};

absl::StatusOr<ExitCode> RunExplain(const ExplainFlags& flags) {
  const absl::StatusOr<Program> program = LoadProgram(flags.program);
  if (!program.ok()) return program.status();
  const absl::StatusOr<Mapping> mapping = LoadMappingByName(flags.mapping, *program);
  if (!mapping.ok()) return mapping.status();
  const absl::StatusOr<Mapping> reference = LoadMappingByName(flags.against, *program);
  if (!reference.ok()) return reference.status();
  const v1::ExplainReport report = MakeExplainReport(*program, {flags.mapping, *mapping},
                                                     {flags.against, *reference}, flags.limit);
  return flags.json ? PrintJson(report) : PrintText(ExplainText(report));
}

}  // namespace

void AddExplainCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "explain");
  const auto flags = std::make_shared<ExplainFlags>();
  AddProgramFlag(*command, flags->program)->required();
  AddMappingFlag(*command, flags->mapping);
  command
      ->add_option("--against", flags->against,
                   "The mapping to compare with, given as for --mapping. The default is `default`.")
      ->type_name("NAME|FILE");
  command
      ->add_option("--limit", flags->limit,
                   "Lists at most this number of tensors. The default is 10.")
      ->type_name("N")
      ->check(WholeNumber(0, kMostReasons));
  AddJsonFlag(*command, "ExplainReport", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunExplain(*flags); }; });
}

}  // namespace mallocmuzero::cli
