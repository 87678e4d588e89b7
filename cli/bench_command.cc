#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/size32.h"
#include "cli/choice_flag.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/corpus.h"
#include "cli/number_flag.h"
#include "cli/print_report.h"
#include "cli/program_inputs.h"
#include "cli/table.h"
#include "env/check/game_bench.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {
namespace {

constexpr char kAllPlayers[] = "all";

struct GameFlags {
  std::string program;
  std::string workloads;
  std::string player = kAllPlayers;
  uint64_t games = 0;
  uint64_t seed = 0;
  bool check = false;
  bool json = false;
};

std::vector<PlayerKind> PlayersOf(const std::string& name) {
  std::vector<PlayerKind> players;
  for (const PlayerKind kind : kPlayerKinds) {
    if (name == kAllPlayers || name == PlayerName(kind)) players.push_back(kind);
  }
  return players;
}

absl::StatusOr<std::vector<std::string>> ProgramPaths(const GameFlags& flags) {
  if (!flags.program.empty()) return std::vector<std::string>{flags.program};
  return FindSomePrograms(flags.workloads);
}

// The games that one player plays of one program. All parts are equal, but the first ones have one
// game more if the number does not divide evenly.
uint64_t Part(uint64_t games, size_t parts, size_t part) {
  return games / parts + (part < games % parts ? 1 : 0);
}

absl::StatusOr<v1::GameBenchReport> MakeReport(const GameFlags& flags) {
  const absl::StatusOr<std::vector<std::string>> paths = ProgramPaths(flags);
  if (!paths.ok()) return paths.status();
  const std::vector<PlayerKind> players = PlayersOf(flags.player);
  v1::GameBenchReport report;
  report.set_programs(Size32(*paths));
  report.set_seed(flags.seed);
  for (const PlayerKind kind : players) {
    report.add_players()->set_player(std::string(PlayerName(kind)));
  }
  const size_t parts = paths->size() * players.size();
  for (size_t p = 0; p < paths->size(); ++p) {
    const absl::StatusOr<Program> program = LoadProgram((*paths)[p]);
    if (!program.ok()) return program.status();
    const ProgramRules rules = ProgramRules::Create(*program);
    for (size_t k = 0; k < players.size(); ++k) {
      const GameBenchOptions options{.games = Part(flags.games, parts, p * players.size() + k),
                                     .seed = flags.seed,
                                     .check = flags.check};
      BenchGames(rules, players[k], options, (*paths)[p], report, *report.mutable_players(k));
    }
  }
  for (v1::GameBenchReport::Entry& entry : *report.mutable_players()) FinishEntry(entry);
  return report;
}

std::string ReportText(const v1::GameBenchReport& report, bool checked) {
  Table table({{"player", Table::Align::kLeft},
               {"games", Table::Align::kRight},
               {"decisions", Table::Align::kRight},
               {"per second", Table::Align::kRight},
               {"mean return", Table::Align::kRight},
               {"bytes a game", Table::Align::kRight},
               {"return error", Table::Align::kRight},
               {"validated", Table::Align::kRight},
               {"violations", Table::Align::kRight}});
  for (const v1::GameBenchReport::Entry& entry : report.players()) {
    std::vector<std::string> row = {
        entry.player(),
        FormatCount(entry.games()),
        FormatCount(entry.decisions()),
        FormatCount(entry.decisions_per_second()),
        FormatPercent(entry.mean_return(), 2),
        FormatCount(entry.bytes_per_game()),
    };
    if (checked) {
      row.push_back(absl::StrFormat("%.1e", entry.worst_return_error()));
      row.push_back(FormatCount(entry.validated_games()));
      row.push_back(FormatCount(entry.violations()));
    }
    table.AddRow(std::move(row));
  }
  std::string text = table.ToText();
  for (const std::string& fault : report.faults()) absl::StrAppend(&text, "fault: ", fault, "\n");
  return text;
}

absl::StatusOr<ExitCode> RunGame(const GameFlags& flags) {
  const absl::StatusOr<v1::GameBenchReport> report = MakeReport(flags);
  if (!report.ok()) return report.status();
  const ExitCode verdict = report->faults().empty() ? ExitCode::kSuccess : ExitCode::kFailure;
  return flags.json ? PrintJson(*report, verdict)
                    : PrintText(ReportText(*report, flags.check), verdict);
}

}  // namespace

void AddBenchGameCommand(CLI::App& bench, CommandBody& body) {
  CLI::App* command = AddSubcommand(bench, "game");
  const auto flags = std::make_shared<GameFlags>();
  CLI::Option_group* programs = command->add_option_group("programs");
  AddProgramFlag(*programs, flags->program);
  programs
      ->add_option("--workloads", flags->workloads,
                   "The folder of the programs. All programs in its subfolders are played.")
      ->type_name("FOLDER");
  programs->require_option(1);
  command
      ->add_option("--games", flags->games,
                   "The number of games in total. Programs and players share them evenly.")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->required();
  TakeOneOf(
      *command
           ->add_option(
               "--player", flags->player,
               "The player of the games. The player all stands for each of the others in turn.")
           ->capture_default_str(),
      {"random", "eager", "adversarial", kAllPlayers});
  command->add_flag("--check", flags->check,
                    "Compares every return with the simulator, and has the validator check a "
                    "sample of the mappings.");
  command->add_option("--seed", flags->seed, "The seed of the players' random choices.")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
  AddJsonFlag(*command, "GameBenchReport", flags->json);
  command->footer("With --check, exits 1 if a return or a mapping is wrong.");
  command->callback([flags, &body] { body.run = [flags] { return RunGame(*flags); }; });
}

void AddBenchCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "bench");
  command->require_subcommand(1);
  AddTableCommands(*command, body);
}

}  // namespace mallocmuzero::cli
