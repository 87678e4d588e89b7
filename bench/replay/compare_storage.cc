// Measures a shard whose bytes are in segment files beside shards that leave them to RocksDB. The
// storages take turns, so that other work on the machine meets all of them.
//   build/bin/compare_storage --item-bytes 40000 --clients 4 --mode durable --rounds 5

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/percentile.h"
#include "base/stop_signal.h"
#include "bench/replay/replay_bench.h"
#include "bench/replay/rocksdb_storage.h"
#include "mallocmuzero/v1/bench.pb.h"

namespace mallocmuzero::bench {
namespace {

struct Candidate {
  std::string name;
  OpenStorage open;  // null: the shard's own storage
};

std::vector<Candidate> Candidates(bool sync) {
  const auto rocksdb = [sync](RocksDbLayout layout) {
    return [sync, layout](const std::string& folder) {
      return MakeRocksDbStorage(folder, layout, sync);
    };
  };
  return {{"segment files", nullptr},
          {"blob files", rocksdb(RocksDbLayout::kBlobFiles)},
          {"values", rocksdb(RocksDbLayout::kValues)}};
}

std::string MedianAndRange(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double median = Percentile(values, 0.5);
  char text[80];
  std::snprintf(text, sizeof(text), "%.0f (%.0f to %.0f)", median, values.front(), values.back());
  return text;
}

int Run(ReplayBenchOptions options, uint32_t rounds) {
  const std::vector<Candidate> candidates = Candidates(options.mode == kDurableSyncMode);
  const StopSignal signal;  // Ctrl-C leaves no items behind
  options.stop = [&signal] { return signal.Wait(absl::ZeroDuration()); };
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> rates;
  for (uint32_t round = 0; round < rounds; ++round) {
    for (const Candidate& candidate : candidates) {
      options.open_storage = candidate.open;
      const absl::StatusOr<v1::ReplayBenchReport> report = BenchReplay(options);
      if (!report.ok()) {
        std::fprintf(stderr, "%s\n", report.status().ToString().c_str());
        return 1;
      }
      std::fprintf(stderr, "round %u, %s: %.0f inserts/s, others %.2f cores\n", round + 1,
                   candidate.name.c_str(), report->inserts_per_second(),
                   report->insert_other_cores());
      rates[candidate.name].first.push_back(report->inserts_per_second());
      rates[candidate.name].second.push_back(report->samples_per_second());
    }
  }
  for (const Candidate& candidate : candidates) {
    const auto& [inserts, samples] = rates[candidate.name];
    std::printf("%-14s %s inserts/s, %s samples/s\n", candidate.name.c_str(),
                MedianAndRange(inserts).c_str(), MedianAndRange(samples).c_str());
  }
  return 0;
}

}  // namespace
}  // namespace mallocmuzero::bench

int main(int argc, char** argv) {
  mallocmuzero::bench::ReplayBenchOptions options{.mode = mallocmuzero::bench::kDurableMode,
                                                  .seconds = 2};
  uint32_t rounds = 5;
  CLI::App app("Compares storages of a replay shard");
  app.add_option("--item-bytes", options.item_bytes, "Bytes of an item");
  app.add_option("--clients", options.clients, "Client processes");
  app.add_option("--mode", options.mode, "What items survive")
      ->check(CLI::IsMember(
          {mallocmuzero::bench::kDurableMode, mallocmuzero::bench::kDurableSyncMode}));
  app.add_option("--seconds", options.seconds, "Seconds of inserts, and of samples");
  app.add_option("--rounds", rounds, "Measurements of each storage")->check(CLI::PositiveNumber);
  app.add_option("--data-dir", options.data_dir, "Folder for the items");
  CLI11_PARSE(app, argc, argv);
  return mallocmuzero::bench::Run(options, rounds);
}
