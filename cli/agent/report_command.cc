#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file_io.h"
#include "base/make_folder.h"
#include "base/status_macros.h"
#include "cli/agent/commands.h"
#include "cli/agent/run_report.h"
#include "cli/command_table.h"
#include "cli/print_report.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/run_report.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "view/learning_curves.h"

namespace mallocmuzero::cli {
namespace {

struct ReportFlags {
  std::string run;
  std::string output;
  bool json = false;
};

absl::StatusOr<std::vector<v1::TrainMetrics>> LoadIterations(const std::string& run) {
  const absl::StatusOr<RunDirectory> directory = RunDirectory::Open(run);
  if (!directory.ok()) return directory.status();
  absl::StatusOr<std::vector<v1::TrainMetrics>> iterations = directory->ReadMetrics();
  if (iterations.ok() && iterations->empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(run, "/metrics.jsonl: no iteration is finished yet"));
  }
  return iterations;
}

absl::Status WriteFiles(const v1::RunReport& report, const std::string& folder,
                        const std::vector<v1::TrainMetrics>& iterations) {
  MMZ_RETURN_IF_ERROR(MakeFolder(folder));
  const std::string& run = report.run();
  const std::pair<std::string, std::string> files[] = {
      {report.returns(), view::ReturnsSvg(run, iterations)},
      {report.losses(), view::LossesSvg(run, iterations)},
      {report.speed(), view::SpeedSvg(run, iterations)},
      {report.report(), RunReportMarkdown(report)},
  };
  for (const auto& [path, content] : files) {
    const absl::Status written = WriteFileAtomically(path, content);
    if (!written.ok()) return OutputError(written);
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunReportCommand(const ReportFlags& flags) {
  const absl::StatusOr<std::vector<v1::TrainMetrics>> iterations = LoadIterations(flags.run);
  if (!iterations.ok()) return iterations.status();
  const v1::RunReport report = MakeRunReport(flags.run, flags.output, *iterations);
  absl::Status written = WriteFiles(report, flags.output, *iterations);
  if (!written.ok()) return written;
  return flags.json ? PrintJson(report) : PrintText(RunReportText(report));
}

}  // namespace

void AddReportCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "report");
  const auto flags = std::make_shared<ReportFlags>();
  command
      ->add_option(
          "--run", flags->run,
          "The folder of a run of `train` or of a cluster's learner. It may still be training.")
      ->type_name("RUN")
      ->required();
  command
      ->add_option(
          "--output", flags->output,
          "The folder that report.md, returns.svg, losses.svg and speed.svg are written to.")
      ->type_name("FOLDER")
      ->required();
  AddJsonFlag(*command, "RunReport", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunReportCommand(*flags); }; });
}

}  // namespace mallocmuzero::cli
