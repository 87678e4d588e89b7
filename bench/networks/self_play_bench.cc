#include "bench/networks/self_play_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/game_recorder.h"
#include "actor/self_play.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "bench/networks/search_speed.h"
#include "env/program_files.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "model/network.h"
#include "model/network_config.h"
#include "train/player_pool.h"
#include "train/train_config.h"

namespace mallocmuzero::bench {
namespace {

// Every decision is searched.
std::vector<GameTask> MakeTasks(const PlayedProgram& program, const SelfPlayBenchOptions& options) {
  const uint64_t games =
      GamesToHaveReady(options.seconds, options.threads, options.batch, program.decisions());
  std::vector<GameTask> tasks;
  for (uint64_t game = 0; game < games; ++game) {
    tasks.push_back({.program = &program,
                     .id = TrajectoryId(0, 0, game),
                     .seed = game,
                     .explored = 1,
                     .searched = 1});
  }
  return tasks;
}

// Plays, and fills in how fast.
absl::Status MeasureSelfPlay(const PlayedProgram& program, const Network& network,
                             const EvaluationOptions& evaluation,
                             const SelfPlayBenchOptions& options, v1::SelfPlayBenchReport& report) {
  v1::SearchOptions search_options = DefaultSearchOptions();
  search_options.set_simulations(options.simulations);
  const absl::StatusOr<SearchConfig> search = MakeSearchConfig(search_options);
  if (!search.ok()) return search.status();
  const absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> snapshot =
      network.Snapshot(evaluation);
  if (!snapshot.ok()) return snapshot.status();
  const std::vector<GameTask> tasks = MakeTasks(program, options);
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const std::chrono::duration<double> limit(options.seconds);
  const absl::StatusOr<PlayedGames> played =
      PlayOnThreads(tasks, *search, options.threads, options.batch, *snapshot, 0,
                    [=] { return Clock::now() - start >= limit; });
  if (!played.ok()) return played.status();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const SelfPlayStats& stats = played->stats;
  const double busy = stats.game_seconds + stats.network_seconds + stats.tree_seconds;
  report.set_decisions_per_second(static_cast<double>(stats.decisions) / seconds);
  report.set_simulations_per_second(static_cast<double>(stats.simulations) / seconds);
  report.set_game_share(stats.game_seconds / busy);
  report.set_network_share(stats.network_seconds / busy);
  report.set_tree_share(stats.tree_seconds / busy);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::SelfPlayBenchReport> BenchSelfPlay(const SelfPlayBenchOptions& options) {
  const absl::StatusOr<ProgramSet> programs = LoadPrograms({options.program});
  if (!programs.ok()) return programs.status();
  const absl::StatusOr<v1::NetworkConfig> config = NetworkPreset(options.network);
  if (!config.ok()) return config.status();
  const absl::StatusOr<Precision> precision = ParsePrecision(options.precision);
  if (!precision.ok()) return precision.status();
  const absl::StatusOr<Device> device = ParseDevice(options.device);
  if (!device.ok()) return device.status();
  const EvaluationOptions evaluation = {.precision = *precision, .device = *device};
  const absl::StatusOr<std::unique_ptr<Network>> network = Network::Create(*config, 0);
  if (!network.ok()) return network.status();

  v1::SelfPlayBenchReport report;
  report.set_program((*programs)[0].name());
  report.set_network(options.network);
  report.set_precision(options.precision);
  report.set_device(options.device);
  report.set_batch(options.batch);
  report.set_simulations(options.simulations);
  report.set_threads(options.threads);
  report.set_seconds(options.seconds);
  const absl::StatusOr<SearchSpeed> search = MeasureSearchSpeed({.network = *config,
                                                                 .evaluation = evaluation,
                                                                 .simulations = options.simulations,
                                                                 .batch = options.batch,
                                                                 .threads = options.threads,
                                                                 .seconds = options.seconds});
  if (!search.ok()) return search.status();
  MMZ_RETURN_IF_ERROR(MeasureSelfPlay((*programs)[0], **network, evaluation, options, report));
  report.set_search_per_second(search->search);
  report.set_share_of_search(report.simulations_per_second() / search->search);
  return report;
}

uint64_t GamesToHaveReady(double seconds, uint32_t threads, uint32_t batch, uint32_t decisions) {
  constexpr double kDecisionsPerSecond = 1e6;  // of a thread; more than a network allows
  constexpr double kMostGames = 1e6;
  return RoundToZero(std::min(kMostGames, seconds * kDecisionsPerSecond * threads / decisions)) +
         uint64_t{batch} * threads;
}

}  // namespace mallocmuzero::bench
