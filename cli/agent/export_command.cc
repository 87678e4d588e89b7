#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/agent/commands.h"
#include "cli/choice_flag.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/number_flag.h"
#include "cli/print_report.h"
#include "cli/table.h"
#include "env/program_files.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/export.pb.h"
#include "model/export/export.h"
#include "model/export/fetch.h"

namespace mallocmuzero::cli {
namespace {

struct ExportFlags {
  ExportOptions options;
  std::vector<std::string> programs;
  bool json = false;
};

absl::StatusOr<ExitCode> PrintReport(const v1::ExportReport& report, bool json) {
  if (json) return PrintJson(report);
  std::string text = absl::StrCat("wrote ", report.output(), ": ", report.format(), ", ",
                                  FormatCount(report.bytes()), " bytes");
  if (report.samples() > 0) absl::StrAppend(&text, ", ", FormatCount(report.samples()), " samples");
  return PrintText(absl::StrCat(text, "\n"));
}

absl::StatusOr<ExitCode> RunExport(const ExportFlags& flags) {
  ExportOptions options = flags.options;
  std::optional<ProgramSet> programs;
  if (!flags.programs.empty()) {
    absl::StatusOr<ProgramSet> loaded = LoadPrograms(flags.programs);
    if (!loaded.ok()) return loaded.status();
    programs = *std::move(loaded);
    options.programs = &*programs;
  }
  const absl::StatusOr<v1::ExportReport> report = ExportCheckpoint(options);
  if (!report.ok()) return report.status();
  return PrintReport(*report, flags.json);
}

struct FetchFlags {
  std::string url;
  std::string output;
  bool json = false;
};

absl::StatusOr<ExitCode> RunFetch(const FetchFlags& flags) {
  const absl::StatusOr<v1::ExportReport> report = FetchExport(flags.url, flags.output);
  if (!report.ok()) return report.status();
  return PrintReport(*report, flags.json);
}

}  // namespace

void AddExportCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "export");
  const auto flags = std::make_shared<ExportFlags>();
  ExportOptions& options = flags->options;
  options.samples = 64;
  command
      ->add_option(
          "--checkpoint", options.checkpoint,
          "The checkpoint whose networks are exported: a file, or an object in storage with "
          "an S3 API, such as s3://bucket/runs/1/checkpoint.")
      ->type_name("FILE")
      ->required();
  TakeOneOf(
      *command->add_option("--format", options.format, "The format of the networks.")->required(),
      {std::string(kOnnxFormat), std::string(kTorchScriptFormat)});
  command
      ->add_option("--output", options.output,
                   "The folder to write. It must not exist, or be empty. Or a new name in storage "
                   "with an S3 API, such as s3://bucket/exports/1.")
      ->type_name("FOLDER")
      ->required();
  auto* programs =
      command
          ->add_option("--sample-programs", flags->programs,
                       "Programs, or folders of programs. Decisions of their games are recorded in "
                       "the export, with what the networks give for them.")
          ->type_name("PATH");
  command->add_option("--samples", options.samples, "The number of recorded decisions.")
      ->type_name("N")
      ->check(WholeNumber(1, 10000))
      ->capture_default_str()
      ->needs(programs);
  command->add_option("--seed", options.seed, "The seed of the actions in the recorded games.")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->needs(programs);
  command
      ->add_option("--scores", options.scores,
                   "The JSON that `bench play --json` printed for the checkpoint. The manifest "
                   "repeats it.")
      ->type_name("FILE");
  AddJsonFlag(*command, "ExportReport", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunExport(*flags); }; });
}

void AddFetchCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "fetch");
  const auto flags = std::make_shared<FetchFlags>();
  command
      ->add_option("--export", flags->url,
                   "The export in storage with an S3 API, such as s3://bucket/exports/1.")
      ->type_name("URL")
      ->required();
  command
      ->add_option("--output", flags->output,
                   "The folder to write. It must not exist, or be empty.")
      ->type_name("FOLDER")
      ->required();
  AddJsonFlag(*command, "ExportReport", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunFetch(*flags); }; });
}

}  // namespace mallocmuzero::cli
