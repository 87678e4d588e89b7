#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/enums.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/print_report.h"
#include "cli/program_inputs.h"
#include "cli/table.h"
#include "mallocmuzero/v1/report.pb.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero::cli {
namespace {

struct ValidateFlags {
  std::string program;
  std::string mapping;
  bool json = false;
};

v1::ValidationReport MakeReport(const std::vector<Violation>& violations) {
  v1::ValidationReport report;
  report.set_valid(violations.empty());
  for (const Violation& violation : violations) {
    v1::ValidationReport::Violation* entry = report.add_violations();
    entry->set_rule(std::string(RuleName(violation.rule)));
    entry->set_message(violation.message);
  }
  return report;
}

// Violations grouped by rule, in the order of Rule.
std::string ValidationText(const std::vector<Violation>& violations, const Mapping& mapping) {
  if (violations.empty()) {
    return absl::StrCat("valid: ", FormatCounted(mapping.intervals.size(), "interval"),
                        " in fast memory ", mapping.intervals.size() == 1 ? "keeps" : "keep",
                        " every rule\n");
  }
  std::vector<std::vector<const Violation*>> by_rule(kRuleCount);
  for (const Violation& violation : violations) {
    by_rule[Underlying(violation.rule)].push_back(&violation);
  }
  std::string text =
      absl::StrCat("invalid: ", FormatCounted(violations.size(), "violation"),
                   violations.size() >= kMaxViolations ? ", more not listed\n" : "\n");
  for (const auto& group : by_rule) {
    if (group.empty()) continue;
    absl::StrAppend(&text, "\n", RuleName(group.front()->rule), " (", FormatCount(group.size()),
                    ")\n");
    for (const Violation* violation : group) absl::StrAppend(&text, "  ", violation->message, "\n");
  }
  return text;
}

absl::StatusOr<ExitCode> RunValidate(const ValidateFlags& flags) {
  const absl::StatusOr<Program> program = LoadProgram(flags.program);
  if (!program.ok()) return program.status();
  const absl::StatusOr<Mapping> mapping = LoadMappingByName(flags.mapping, *program);
  if (!mapping.ok()) return mapping.status();
  MMZ_RETURN_IF_ERROR(
      CheckHasAddresses(flags.mapping, *mapping, flags.program, *program, "validated"));
  const std::vector<Violation> violations = Validate(*program, *mapping);
  const ExitCode verdict = violations.empty() ? ExitCode::kSuccess : ExitCode::kFailure;
  return flags.json ? PrintJson(MakeReport(violations), verdict)
                    : PrintText(ValidationText(violations, *mapping), verdict);
}

}  // namespace

void AddValidateCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "validate");
  const auto flags = std::make_shared<ValidateFlags>();
  AddProgramFlag(*command, flags->program)->required();
  AddMappingFlag(*command, flags->mapping);
  AddJsonFlag(*command, "ValidationReport", flags->json);
  command->footer("Exits 1 if the mapping is invalid.");
  command->callback([flags, &body] { body.run = [flags] { return RunValidate(*flags); }; });
}

}  // namespace mallocmuzero::cli
