#include <cstdint>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "bench/networks/learner_bench.h"
#include "cli/agent/commands.h"
#include "cli/agent/device_flag.h"
#include "cli/choice_flag.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/duration_flag.h"
#include "cli/number_flag.h"
#include "cli/print_report.h"
#include "cli/table.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "model/network_config.h"

namespace mallocmuzero::cli {
namespace {

constexpr double kMostLearnerSeconds = 600;

struct LearnerBenchFlags {
  bench::LearnerBenchOptions options;
  bool json = false;
};

std::string ReportText(const v1::LearnerBenchReport& report) {
  return FactList(
      {{"network", absl::StrCat(report.network(), ", ", FormatCount(report.weights()), " weights")},
       {"device",
        absl::StrCat(report.device(), report.mixed_precision() ? ", mixed precision" : "")},
       {"rows", absl::StrCat(report.rows(), ", ", report.unroll_steps(), " steps each",
                             report.consistency() ? ", with consistency" : "")},
       {"updates per second", absl::StrFormat("%.1f", report.updates_per_second())},
       {"rows per second", FormatCount(report.rows_per_second())},
       {"update p50", absl::StrFormat("%.2f ms", report.update_p50_ms())},
       {"update p99", absl::StrFormat("%.2f ms", report.update_p99_ms())}});
}

absl::StatusOr<ExitCode> RunLearnerBench(const LearnerBenchFlags& flags) {
  MMZ_RETURN_IF_ERROR(CheckSeconds(flags.options.seconds, kMostLearnerSeconds));
  const absl::StatusOr<v1::LearnerBenchReport> report = bench::BenchLearner(flags.options);
  if (!report.ok()) return report.status();
  return flags.json ? PrintJson(*report) : PrintText(ReportText(*report));
}

}  // namespace

void AddBenchLearnerCommand(CLI::App& parent, CommandBody& body) {
  CLI::App* command = AddSubcommand(parent, "learner");
  const auto flags = std::make_shared<LearnerBenchFlags>();
  bench::LearnerBenchOptions& options = flags->options;
  TakeOneOf(*command->add_option("--network", options.network, "The size of the network.")
                 ->capture_default_str(),
            NetworkPresetNames());
  AddDeviceFlag(*command, options.device);
  command->add_flag("--mixed-precision", options.mixed_precision,
                    "Computes dynamics and prediction in bfloat16.");
  command->add_option("--rows", options.rows, "The number of rows of one update.")
      ->type_name("N")
      ->check(WholeNumber(1, 1U << 16))
      ->capture_default_str();
  command
      ->add_option("--unroll-steps", options.unroll_steps,
                   "The number of steps that are unrolled from each row.")
      ->type_name("N")
      ->check(WholeNumber(1, 64))
      ->capture_default_str();
  command->add_flag("--consistency", options.consistency,
                    "Trains the consistency of latent states, too.");
  command->add_option("--threads", options.threads, "The number of threads of LibTorch on the CPU.")
      ->type_name("N")
      ->check(WholeNumber(1, 1024))
      ->capture_default_str();
  command->add_option("--seconds", options.seconds, "The time of the measurement.")
      ->type_name("SECONDS")
      ->capture_default_str();
  AddJsonFlag(*command, "LearnerBenchReport", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunLearnerBench(*flags); }; });
}

}  // namespace mallocmuzero::cli
