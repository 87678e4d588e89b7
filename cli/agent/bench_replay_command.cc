#include <cstdint>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "bench/replay/replay_bench.h"
#include "cli/agent/commands.h"
#include "cli/choice_flag.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/duration_flag.h"
#include "cli/number_flag.h"
#include "cli/print_report.h"
#include "cli/solve_progress.h"
#include "cli/table.h"
#include "mallocmuzero/v1/bench.pb.h"

namespace mallocmuzero::cli {
namespace {

constexpr double kMostReplaySeconds = 3600;

struct ReplayBenchFlags {
  bench::ReplayBenchOptions options;
  bool json = false;
};

std::string ReportText(const v1::ReplayBenchReport& report) {
  Table table({{"", Table::Align::kLeft},
               {"per second", Table::Align::kRight},
               {"p50 ms", Table::Align::kRight},
               {"p99 ms", Table::Align::kRight},
               {"others' cores", Table::Align::kRight}});
  const auto number = [](double value) { return absl::StrFormat("%.2f", value); };
  table.AddRow({"inserts", FormatCount(report.inserts_per_second()), number(report.insert_p50_ms()),
                number(report.insert_p99_ms()), number(report.insert_other_cores())});
  table.AddRow({absl::StrCat("samples, ", report.batch(), " a call"),
                FormatCount(report.samples_per_second()), number(report.sample_p50_ms()),
                number(report.sample_p99_ms()), number(report.sample_other_cores())});
  return absl::StrCat(FormatCount(report.items()), " items of ", FormatCount(report.item_bytes()),
                      " bytes, ", report.mode(), ", clients: ", report.clients(), "\n\n",
                      table.ToText());
}

absl::StatusOr<ExitCode> RunReplayBench(const ReplayBenchFlags& flags) {
  MMZ_RETURN_IF_ERROR(CheckSeconds(flags.options.seconds, kMostReplaySeconds));
  const InterruptGuard guard;
  const absl::StatusOr<v1::ReplayBenchReport> report = bench::BenchReplay(flags.options);
  if (!report.ok()) return report.status();
  return flags.json ? PrintJson(*report) : PrintText(ReportText(*report));
}

}  // namespace

void AddBenchReplayCommand(CLI::App& parent, CommandBody& body) {
  CLI::App* command = AddSubcommand(parent, "replay");
  const auto flags = std::make_shared<ReplayBenchFlags>();
  flags->options.stop = InterruptGuard::interrupted;
  command->add_option("--item-bytes", flags->options.item_bytes, "The size of one trajectory.")
      ->type_name("BYTES")
      ->check(WholeNumber(1, uint64_t{32} << 20))
      ->capture_default_str();
  command
      ->add_option("--clients", flags->options.clients,
                   "The number of client processes. Each inserts first and samples afterwards.")
      ->type_name("N")
      ->check(WholeNumber(1, 1024))
      ->capture_default_str();
  TakeOneOf(*command
                 ->add_option("--mode", flags->options.mode,
                              "The shard's mode: items of durable outlive the process, items of "
                              "durable_sync also outlive a power cut.")
                 ->capture_default_str(),
            {bench::kMemoryMode, bench::kDurableMode, bench::kDurableSyncMode});
  command
      ->add_option("--items", flags->options.items,
                   "The number of items that the shard stores before the measurement. The default "
                   "is 800 MB of items, or 100,000 items if they are small.")
      ->type_name("N")
      ->check(WholeNumber(1, 100'000'000));
  command
      ->add_option("--seconds", flags->options.seconds,
                   "The time of the inserts, and again of the samples.")
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      ->add_option("--data-dir", flags->options.data_dir,
                   "The folder of the items in durable modes; they are removed at the end. The "
                   "default is the system's folder for temporary files.")
      ->type_name("FOLDER");
  AddJsonFlag(*command, "ReplayBenchReport", flags->json);
  command->footer("Ctrl-C ends it without a result; its files are removed.");
  command->callback([flags, &body] { body.run = [flags] { return RunReplayBench(*flags); }; });
}

}  // namespace mallocmuzero::cli
