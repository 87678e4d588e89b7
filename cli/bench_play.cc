#include "cli/bench_play.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "actor/game_recorder.h"
#include "actor/self_play.h"
#include "cli/command.h"
#include "cli/number_flag.h"
#include "cli/print_json.h"
#include "cli/program_set_flags.h"
#include "cli/table.h"
#include "env/game.h"
#include "env/program_set.h"
#include "env/solvers/greedy.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "model/network_config.h"
#include "replay/trajectory_buffer.h"
#include "train/player_pool.h"
#include "train/train_config.h"
#include "view/learning_curves.h"

namespace mallocmuzero::cli {
namespace {

constexpr uint32_t kMostInFlight = 256;

struct PlayFlags {
  ProgramSetFlags programs;
  std::string checkpoint;
  std::string network = "tiny";
  uint64_t seed = 0;
  uint32_t simulations = 16;
  bool json = false;
};

absl::StatusOr<std::unique_ptr<Network>> MakeNetwork(const PlayFlags& flags) {
  if (!flags.checkpoint.empty()) return LoadNetwork(flags.checkpoint);
  const absl::StatusOr<v1::NetworkConfig> config = NetworkPreset(flags.network);
  if (!config.ok()) return config.status();
  return Network::Create(*config, flags.seed);
}

// One game of each program, nothing explored, every decision searched.
absl::StatusOr<PlayedGames> PlayOneOfEach(const ProgramSet& programs, const Network& network,
                                          uint32_t simulations) {
  v1::SearchOptions options = DefaultSearchOptions();
  options.set_simulations(simulations);
  const absl::StatusOr<SearchConfig> search = MakeSearchConfig(options);
  if (!search.ok()) return search.status();
  const absl::StatusOr<std::shared_ptr<const NetworkSnapshot>> snapshot = network.Snapshot({});
  if (!snapshot.ok()) return snapshot.status();
  std::vector<GameTask> tasks;
  for (size_t p = 0; p < programs.size(); ++p) {
    tasks.push_back({.program = &programs[p],
                     .id = TrajectoryId(0, 0, p),
                     .searched = simulations > 0 ? 1.0F : 0.0F});
  }
  return PlayOnThreads(tasks, *search, 1, kMostInFlight, *snapshot, 0, nullptr);
}

void Describe(const PlayedProgram& program, const v1::Trajectory& game,
              v1::PlayBenchReport::Program& entry) {
  const double all_hbm = program.rules().all_hbm_cycles();
  const double greedy = PlayGreedy(program.rules()).total_return();
  entry.set_program(program.name());
  entry.set_hardware(program.program().hardware().name());
  entry.set_decisions(static_cast<uint32_t>(game.actions().size()));
  entry.set_all_hbm_cycles(all_hbm);
  entry.set_greedy_cycles(all_hbm * (1 - greedy));
  entry.set_total_cycles(all_hbm * (1 - TotalReturn(game).share()));
  if (!std::isnan(program.default_return())) {
    entry.set_default_cycles(all_hbm * (1 - program.default_return()));
  }
}

absl::StatusOr<v1::PlayBenchReport> MakeReport(const PlayFlags& flags) {
  const absl::StatusOr<std::unique_ptr<Network>> network = MakeNetwork(flags);
  if (!network.ok()) return network.status();
  const absl::StatusOr<ProgramSet> programs = LoadProgramSet(flags.programs);
  if (!programs.ok()) return programs.status();
  const absl::Time start = absl::Now();
  const absl::StatusOr<PlayedGames> played = PlayOneOfEach(*programs, **network, flags.simulations);
  if (!played.ok()) return played.status();
  v1::PlayBenchReport report;
  report.set_checkpoint(flags.checkpoint);
  report.set_simulations(flags.simulations);
  report.set_seconds(absl::ToDoubleSeconds(absl::Now() - start));
  for (size_t p = 0; p < programs->size(); ++p) {
    Describe((*programs)[p], played->games[p], *report.add_programs());
  }
  return report;
}

std::string ReportText(const v1::PlayBenchReport& report) {
  Table table({{"share of the all-HBM cycles saved", Table::Align::kLeft},
               {"decisions", Table::Align::kRight},
               {"default", Table::Align::kRight},
               {"greedy", Table::Align::kRight},
               {"network", Table::Align::kRight}});
  for (const v1::PlayBenchReport::Program& p : report.programs()) {
    const auto saved = [&](double cycles) {
      return FormatPercent(1 - cycles / p.all_hbm_cycles());
    };
    table.AddRow({view::NameOnChip(p.program(), p.hardware()), FormatCount(p.decisions()),
                  p.has_default_cycles() ? saved(p.default_cycles()) : "", saved(p.greedy_cycles()),
                  saved(p.total_cycles())});
  }
  return absl::StrCat(table.ToText(), "\n", report.simulations(), " simulations a decision\n");
}

absl::StatusOr<ExitCode> RunPlay(const PlayFlags& flags) {
  const absl::StatusOr<v1::PlayBenchReport> report = MakeReport(flags);
  if (!report.ok()) return report.status();
  if (flags.json) return PrintJson(*report);
  std::fputs(ReportText(*report).c_str(), stdout);
  return ExitCode::kSuccess;
}

}  // namespace

void AddBenchPlay(CLI::App& bench, Action& action) {
  CLI::App* command = bench.add_subcommand(
      "play", "One game of each program by a network alone: what it has learned, without solvers");
  const auto flags = std::make_shared<PlayFlags>();
  AddProgramSetFlags(*command, "play", flags->programs);
  auto* checkpoint = command
                         ->add_option("--checkpoint", flags->checkpoint,
                                      "network to play with; default: one that has learned nothing")
                         ->type_name("FILE");
  command->add_option("--network", flags->network, "size of a network that has learned nothing")
      ->check(CLI::IsMember({"tiny", "small", "base"}))
      ->capture_default_str()
      ->excludes(checkpoint);
  command->add_option("--seed", flags->seed, "of its weights")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->excludes(checkpoint);
  command
      ->add_option("--simulations", flags->simulations,
                   "of the search for each decision; 0: the policy alone")
      ->check(CLI::Range(0U, 1U << 16))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "print one JSON object (PlayBenchReport)");
  command->callback([flags, &action] { action = [flags] { return RunPlay(*flags); }; });
}

}  // namespace mallocmuzero::cli
