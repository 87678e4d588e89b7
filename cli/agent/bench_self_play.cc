#include "cli/agent/bench_self_play.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "actor/game_recorder.h"
#include "actor/self_play.h"
#include "base/status_macros.h"
#include "cli/agent/search_speed.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/duration_flag.h"
#include "cli/print_json.h"
#include "cli/table.h"
#include "env/program_files.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "model/network.h"
#include "model/network_config.h"
#include "train/player_pool.h"
#include "train/train_config.h"

namespace mallocmuzero::cli {
namespace {

constexpr double kMostSeconds = 600;

struct SelfPlayFlags {
  std::string program;
  std::string network = "tiny";
  std::string precision = "fp32";
  uint32_t simulations = 32;
  uint32_t batch = 128;
  uint32_t threads = 1;
  double seconds = 5;
  bool json = false;
};

// Every decision is searched.
std::vector<GameTask> MakeTasks(const PlayedProgram& program, const SelfPlayFlags& flags) {
  const uint64_t games =
      GamesToHaveReady(flags.seconds, flags.threads, flags.batch, program.decisions());
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

// Fills in what was played.
absl::Status MeasureSelfPlay(const PlayedProgram& program, const Network& network,
                             Precision precision, const SelfPlayFlags& flags,
                             v1::SelfPlayBenchReport& report) {
  v1::SearchOptions options = DefaultSearchOptions();
  options.set_simulations(flags.simulations);
  const absl::StatusOr<SearchConfig> search = MakeSearchConfig(options);
  if (!search.ok()) return search.status();
  const absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> snapshot =
      network.Snapshot({.precision = precision});
  if (!snapshot.ok()) return snapshot.status();
  const std::vector<GameTask> tasks = MakeTasks(program, flags);
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const std::chrono::duration<double> limit(flags.seconds);
  const absl::StatusOr<PlayedGames> played =
      PlayOnThreads(tasks, *search, flags.threads, flags.batch, *snapshot, 0,
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

absl::StatusOr<v1::SelfPlayBenchReport> MakeReport(const SelfPlayFlags& flags) {
  MMZ_RETURN_IF_ERROR(CheckSeconds(flags.seconds, kMostSeconds));
  const absl::StatusOr<ProgramSet> programs = LoadPrograms({flags.program});
  if (!programs.ok()) return programs.status();
  const absl::StatusOr<v1::NetworkConfig> config = NetworkPreset(flags.network);
  if (!config.ok()) return config.status();
  const absl::StatusOr<Precision> precision = ParsePrecision(flags.precision);
  if (!precision.ok()) return precision.status();
  const absl::StatusOr<std::unique_ptr<Network>> network = Network::Create(*config, 0);
  if (!network.ok()) return network.status();

  v1::SelfPlayBenchReport report;
  report.set_program((*programs)[0].name());
  report.set_network(flags.network);
  report.set_precision(flags.precision);
  report.set_batch(flags.batch);
  report.set_simulations(flags.simulations);
  report.set_threads(flags.threads);
  report.set_seconds(flags.seconds);
  const absl::StatusOr<SearchSpeed> search = MeasureSearchSpeed({.network = *config,
                                                                 .precision = *precision,
                                                                 .simulations = flags.simulations,
                                                                 .batch = flags.batch,
                                                                 .threads = flags.threads,
                                                                 .seconds = flags.seconds});
  if (!search.ok()) return search.status();
  MMZ_RETURN_IF_ERROR(MeasureSelfPlay((*programs)[0], **network, *precision, flags, report));
  report.set_search_per_second(search->search);
  report.set_share_of_search(report.simulations_per_second() / search->search);
  return report;
}

std::string ReportText(const v1::SelfPlayBenchReport& report) {
  Table table(
      {{"measured", Table::Align::kLeft}, {"simulations per second", Table::Align::kRight}});
  table.AddRow({"self-play", FormatCount(report.simulations_per_second())});
  table.AddRow({"search alone", FormatCount(report.search_per_second())});
  return absl::StrCat(report.program(), ", ", report.network(), " network, ", report.precision(),
                      "; batch ", report.batch(), ", ", report.simulations(), " simulations\n\n",
                      table.ToText(), "\n", FormatCount(report.decisions_per_second()),
                      " decisions a second; self-play reaches ",
                      FormatPercent(report.share_of_search()),
                      " of the search alone. Its time: ", FormatPercent(report.game_share()),
                      " rules and observations, ", FormatPercent(report.network_share()),
                      " networks, ", FormatPercent(report.tree_share()), " trees.\n");
}

absl::StatusOr<ExitCode> RunSelfPlay(const SelfPlayFlags& flags) {
  const absl::StatusOr<v1::SelfPlayBenchReport> report = MakeReport(flags);
  if (!report.ok()) return report.status();
  if (flags.json) return PrintJson(*report);
  std::fputs(ReportText(*report).c_str(), stdout);
  return ExitCode::kSuccess;
}

}  // namespace

uint64_t GamesToHaveReady(double seconds, uint32_t threads, uint32_t batch, uint32_t decisions) {
  constexpr double kDecisionsPerSecond = 1e6;  // of a thread; more than a network allows
  constexpr double kMostGames = 1e6;
  return static_cast<uint64_t>(
             std::min(kMostGames, seconds * kDecisionsPerSecond * threads / decisions)) +
         uint64_t{batch} * threads;
}

void AddBenchSelfPlayCommand(CLI::App& bench, CommandBody& body) {
  const CLI::Range large(1U, 1U << 16);
  CLI::App* command = AddSubcommand(bench, "self-play");
  const auto flags = std::make_shared<SelfPlayFlags>();
  command->add_option("--program", flags->program, "program that `import` wrote")
      ->type_name("FILE")
      ->required();
  command->add_option("--network", flags->network, "size")
      ->check(CLI::IsMember({"tiny", "small", "base"}))
      ->capture_default_str();
  command->add_option("--precision", flags->precision, "of the networks")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->capture_default_str();
  command->add_option("--simulations", flags->simulations, "of one search")
      ->check(large)
      ->capture_default_str();
  command->add_option("--batch", flags->batch, "games in flight on a thread")
      ->check(large)
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "each with games of its own")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  command->add_option("--seconds", flags->seconds, "for self-play, and three times for the search")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "print one JSON object (SelfPlayBenchReport)");
  command->callback([flags, &body] { body.run = [flags] { return RunSelfPlay(*flags); }; });
}

}  // namespace mallocmuzero::cli
