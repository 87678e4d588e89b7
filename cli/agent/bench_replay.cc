#include "cli/agent/bench_replay.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/agent/replay_load.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/duration_flag.h"
#include "cli/print_json.h"
#include "cli/solve_progress.h"
#include "cli/table.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero::cli {
namespace {

constexpr char kMemory[] = "memory";
constexpr char kDurable[] = "durable";
constexpr char kDurableSync[] = "durable_sync";

constexpr double kMostSeconds = 3600;

struct ReplayFlags {
  uint64_t item_bytes = 40000;
  uint32_t clients = 1;
  std::string mode = kMemory;
  uint64_t items = 0;
  double seconds = 5;
  std::string data_dir;
  bool json = false;
};

// What fills 800 MB, and no fewer than 1,000; as the Reverb benchmark's tables.
uint64_t DefaultItems(uint64_t item_bytes) {
  if (item_bytes <= 1000) return 100'000;
  return std::max<uint64_t>(1000, 800'000'000 / item_bytes);
}

v1::ReplayShard::Mode ModeOf(const std::string& name) {
  if (name == kDurableSync) return v1::ReplayShard::DURABLE_SYNC;
  return name == kDurable ? v1::ReplayShard::DURABLE : v1::ReplayShard::MEMORY;
}

absl::StatusOr<v1::ReplayBenchReport> MakeReport(const ReplayFlags& flags) {
  MMZ_RETURN_IF_ERROR(CheckSeconds(flags.seconds, kMostSeconds));
  const absl::StatusOr<std::string> folder = FolderForItems(flags.data_dir);
  if (!folder.ok()) return folder.status();
  const std::string data_dir = absl::StrCat(*folder, "/bench-replay-", getpid());
  const InterruptGuard guard;
  const absl::Cleanup remove = [&] {
    std::error_code error;
    std::filesystem::remove_all(data_dir, error);
  };
  const uint64_t items = flags.items > 0 ? flags.items : DefaultItems(flags.item_bytes);
  const absl::StatusOr<ReplayLoad> load = MeasureReplayLoad({.mode = ModeOf(flags.mode),
                                                             .data_dir = data_dir,
                                                             .item_bytes = flags.item_bytes,
                                                             .clients = flags.clients,
                                                             .items = items,
                                                             .seconds = flags.seconds,
                                                             .stop = InterruptGuard::interrupted});
  if (!load.ok()) return load.status();
  v1::ReplayBenchReport report;
  report.set_item_bytes(static_cast<double>(flags.item_bytes));
  report.set_clients(flags.clients);
  report.set_mode(flags.mode);
  report.set_items(static_cast<double>(items));
  report.set_seconds(flags.seconds);
  report.set_batch(load->batch);
  report.set_inserts_per_second(load->inserts.per_second);
  report.set_samples_per_second(load->samples.per_second);
  report.set_insert_p50_ms(load->inserts.p50_ms);
  report.set_insert_p99_ms(load->inserts.p99_ms);
  report.set_sample_p50_ms(load->samples.p50_ms);
  report.set_sample_p99_ms(load->samples.p99_ms);
  report.set_insert_other_cores(load->inserts.other_cores);
  report.set_sample_other_cores(load->samples.other_cores);
  report.set_server_rss_bytes(load->server_rss_bytes);
  return report;
}

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

absl::StatusOr<ExitCode> RunReplay(const ReplayFlags& flags) {
  const absl::StatusOr<v1::ReplayBenchReport> report = MakeReport(flags);
  if (!report.ok()) return report.status();
  if (flags.json) return PrintJson(*report);
  std::fputs(ReportText(*report).c_str(), stdout);
  return ExitCode::kSuccess;
}

}  // namespace

absl::StatusOr<std::string> FolderForItems(const std::string& data_dir) {
  if (!data_dir.empty()) return data_dir;
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (!error) return folder.string();
  return absl::InvalidArgumentError(
      absl::StrCat("--data-dir: a folder expected, as the system's for temporary files (TMPDIR) "
                   "cannot be used: ",
                   error.message()));
}

void AddBenchReplayCommand(CLI::App& bench, CommandBody& body) {
  CLI::App* command = AddSubcommand(bench, "replay");
  const auto flags = std::make_shared<ReplayFlags>();
  command->add_option("--item-bytes", flags->item_bytes, "of one trajectory")
      ->type_name("BYTES")
      ->check(CLI::Range(uint64_t{1}, uint64_t{32} << 20))
      ->capture_default_str();
  command->add_option("--clients", flags->clients, "processes that insert, then sample")
      ->type_name("COUNT")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  command->add_option("--mode", flags->mode, "whether items outlive the shard, or a power cut")
      ->check(CLI::IsMember({kMemory, kDurable, kDurableSync}))
      ->capture_default_str();
  command
      ->add_option("--items", flags->items,
                   "stored from the start on; 800 MB of them if not given, 100,000 if small")
      ->type_name("COUNT")
      ->check(CLI::Range(uint64_t{1}, uint64_t{100'000'000}));
  command->add_option("--seconds", flags->seconds, "time for inserts, and for samples")
      ->type_name("SECONDS")
      ->capture_default_str();
  command
      ->add_option("--data-dir", flags->data_dir,
                   "folder for the items of durable modes while it runs; the system's for "
                   "temporary files if not given")
      ->type_name("FOLDER");
  command->add_flag("--json", flags->json, "print one JSON object (ReplayBenchReport)");
  command->footer("Ctrl-C ends it without a result; its files are removed.");
  command->callback([flags, &body] { body.run = [flags] { return RunReplay(*flags); }; });
}

}  // namespace mallocmuzero::cli
