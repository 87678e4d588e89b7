#include "bench/replay/replay_bench.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bench/replay/replay_load.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "mallocmuzero/v1/cluster.pb.h"

namespace mallocmuzero::bench {
namespace {

// As many items as fill 800 MB, and 1,000 at least. The tables of Reverb's benchmark are as large.
uint64_t DefaultItems(uint64_t item_bytes) {
  if (item_bytes <= 1000) return 100'000;
  return std::max<uint64_t>(1000, 800'000'000 / item_bytes);
}

v1::ReplayShard::Mode ModeOf(const std::string& name) {
  if (name == kDurableSyncMode) return v1::ReplayShard::DURABLE_SYNC;
  return name == kDurableMode ? v1::ReplayShard::DURABLE : v1::ReplayShard::MEMORY;
}

}  // namespace

absl::StatusOr<v1::ReplayBenchReport> BenchReplay(const ReplayBenchOptions& options) {
  const absl::StatusOr<std::string> folder = FolderForItems(options.data_dir);
  if (!folder.ok()) return folder.status();
  const std::string data_dir = absl::StrCat(*folder, "/bench-replay-", getpid());
  const absl::Cleanup remove = [&] {
    std::error_code error;
    std::filesystem::remove_all(data_dir, error);
  };
  const uint64_t items = options.items > 0 ? options.items : DefaultItems(options.item_bytes);
  const absl::StatusOr<ReplayLoad> load =
      MeasureReplayLoad({.mode = ModeOf(options.mode),
                         .data_dir = data_dir,
                         .item_bytes = options.item_bytes,
                         .clients = options.clients,
                         .items = items,
                         .seconds = options.seconds,
                         .patience_seconds = options.patience_seconds,
                         .open_storage = options.open_storage,
                         .stop = options.stop});
  if (!load.ok()) return load.status();
  v1::ReplayBenchReport report;
  report.set_item_bytes(static_cast<double>(options.item_bytes));
  report.set_clients(options.clients);
  report.set_mode(options.mode);
  report.set_items(static_cast<double>(items));
  report.set_seconds(options.seconds);
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

}  // namespace mallocmuzero::bench
