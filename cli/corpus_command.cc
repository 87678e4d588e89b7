#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_io.h"
#include "base/status_at.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/corpus.h"
#include "cli/print_report.h"

namespace mallocmuzero::cli {
namespace {

struct CorpusFlags {
  std::string workloads = "workloads";
  std::string write;
  bool json = false;
};

absl::StatusOr<ExitCode> RunCorpus(const CorpusFlags& flags) {
  const absl::StatusOr<std::vector<CorpusProgram>> programs = ReadCorpus(flags.workloads);
  if (!programs.ok()) return programs.status();
  if (flags.json) return PrintJson(MakeCorpusReport(*programs));
  const std::string markdown = CorpusMarkdown(*programs);
  if (flags.write.empty()) return PrintText(markdown);
  const absl::StatusOr<std::string> document = ReadFile(flags.write);
  if (!document.ok()) return document.status();
  const absl::StatusOr<std::string> updated = ReplaceBetweenMarkers(*document, markdown);
  if (!updated.ok()) return StatusAt(flags.write, updated.status());
  const absl::Status written = WriteFileAtomically(flags.write, *updated);
  if (!written.ok()) return OutputError(written);
  return ExitCode::kSuccess;
}

}  // namespace

void AddCorpusCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "corpus");
  const auto flags = std::make_shared<CorpusFlags>();
  command
      ->add_option("--workloads", flags->workloads,
                   "The folder of split.csv and of one folder of programs for each chip.")
      ->type_name("FOLDER")
      ->capture_default_str();
  CLI::Option* write = command
                           ->add_option("--write", flags->write,
                                        "Replaces the text between the corpus markers in this "
                                        "Markdown file. By default the table is printed.")
                           ->type_name("FILE");
  AddJsonFlag(*command, "CorpusReport", flags->json)->excludes(write);
  command->callback([flags, &body] { body.run = [flags] { return RunCorpus(*flags); }; });
}

}  // namespace mallocmuzero::cli
