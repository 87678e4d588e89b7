#include "cli/agent/bench_values.h"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/number_flag.h"
#include "cli/print_json.h"
#include "cli/program_set_flags.h"
#include "cli/table.h"
#include "env/program_set.h"
#include "learner/return_baseline.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "train/value_ranking.h"

namespace mallocmuzero::cli {
namespace {

struct ValuesFlags {
  std::string checkpoint;
  ProgramSetFlags programs;
  ValueRankingOptions options;
  bool json = false;
};

// What a checkpoint says of a program; null if nothing.
const v1::ReturnBaselineState* FindBaseline(const v1::TrainState& state,
                                            const PlayedProgram& program) {
  for (const v1::TrainState::Program& saved : state.programs()) {
    if (saved.sha256() == program.sha256() && saved.baseline().games() > 0) {
      return &saved.baseline();
    }
  }
  return nullptr;
}

bool IsRanked(const v1::TrainState& state) {
  return state.programs_size() > 0 && state.programs(0).baseline().has_return_to_beat();
}

absl::StatusOr<v1::ValueBenchReport> MakeReport(const ValuesFlags& flags) {
  const absl::StatusOr<Checkpoint> checkpoint = LoadCheckpoint(flags.checkpoint);
  if (!checkpoint.ok()) return checkpoint.status();
  const auto in_file = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(flags.checkpoint, ": ", status.message()));
  };
  v1::TrainState state;
  if (!state.ParseFromString(checkpoint->training_state)) {
    return in_file(absl::InvalidArgumentError("damaged: its training state cannot be read"));
  }
  const absl::StatusOr<std::unique_ptr<Network>> network = MakeNetwork(*checkpoint);
  if (!network.ok()) return in_file(network.status());
  const auto snapshot = (*network)->Snapshot({});
  if (!snapshot.ok()) return snapshot.status();
  const absl::StatusOr<ProgramSet> programs = LoadProgramSet(flags.programs);
  if (!programs.ok()) return programs.status();

  ValueRankingOptions options = flags.options;
  options.ranked = IsRanked(state);
  v1::ValueBenchReport report;
  report.set_programs(static_cast<uint32_t>(programs->size()));
  report.set_games(options.games);
  report.set_seed(options.seed);
  report.set_least_difference(options.least_difference);
  for (size_t p = 0; p < programs->size(); ++p) {
    const PlayedProgram& program = (*programs)[p];
    // Of the quantile nothing is used here.
    ReturnBaseline baseline(program.rules().access_count(), options.ranked ? 0.5 : 0);
    const v1::ReturnBaselineState* saved = FindBaseline(state, program);
    const bool is_known = saved != nullptr && baseline.Restore(*saved);
    if (!is_known) report.set_new_programs(report.new_programs() + 1);
    MMZ_RETURN_IF_ERROR(
        RankGames(program, *snapshot, is_known ? &baseline : nullptr, options, report));
  }
  return report;
}

std::string Right(const v1::ValueBenchReport::Ranking& ranking) {
  return ranking.has_right() ? FormatPercent(ranking.right()) : "";
}

std::string ReportText(const v1::ValueBenchReport& report) {
  Table table({{"games explore", Table::Align::kLeft},
               {"at", Table::Align::kRight},
               {"pairs", Table::Align::kRight},
               {"ranked rightly", Table::Align::kRight},
               {"without values", Table::Align::kRight},
               {"by the policy", Table::Align::kRight},
               {"pairs to go", Table::Align::kRight},
               {"by values alone", Table::Align::kRight}});
  const auto add = [&](const v1::ValueBenchReport::Point& point, const std::string& at) {
    table.AddRow({point.explored(), at, FormatCount(point.whole().pairs()), Right(point.whole()),
                  Right(point.whole_without_value()), Right(point.whole_by_policy()),
                  FormatCount(point.to_go().pairs()), Right(point.to_go())});
  };
  for (const v1::ValueBenchReport::Point& point : report.points()) {
    add(point, point.at() < 1 ? FormatPercent(point.at(), 0) : "near the end");
  }
  for (const v1::ValueBenchReport::Point& total : report.totals()) add(total, "all");
  return absl::StrCat(
      absl::StrFormat("%d games of each of %d programs and ways of exploring; pairs that differ by "
                      "%.2f %% of the all-HBM cycles or more\n\n",
                      report.games(), report.programs(), 100 * report.least_difference()),
      table.ToText());
}

absl::StatusOr<ExitCode> RunValues(const ValuesFlags& flags) {
  const absl::StatusOr<v1::ValueBenchReport> report = MakeReport(flags);
  if (!report.ok()) return report.status();
  if (flags.json) return PrintJson(*report);
  std::fputs(ReportText(*report).c_str(), stdout);
  return ExitCode::kSuccess;
}

}  // namespace

void AddBenchValuesCommand(CLI::App& bench, CommandBody& body) {
  CLI::App* command = AddSubcommand(bench, "values");
  const auto flags = std::make_shared<ValuesFlags>();
  command->add_option("--checkpoint", flags->checkpoint, "of a training run")
      ->type_name("FILE")
      ->required();
  AddProgramSetFlags(*command, "play", flags->programs);
  command->add_option("--games", flags->options.games, "of each program and way of exploring")
      ->type_name("COUNT")
      ->check(CLI::Range(2U, 4096U))
      ->capture_default_str();
  command
      ->add_option("--least-difference", flags->options.least_difference,
                   "of two games that are compared, share of the all-HBM cycles")
      ->type_name("SHARE")
      ->check(CLI::Range(1e-9, 1.0))
      ->capture_default_str();
  command->add_option("--threads", flags->options.threads, "that play")
      ->type_name("COUNT")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  command->add_option("--seed", flags->options.seed, "of what is explored")
      ->type_name("NUMBER")
      ->check(WholeNumber(0))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "print one JSON object (ValueBenchReport)");
  command->callback([flags, &body] { body.run = [flags] { return RunValues(*flags); }; });
}

}  // namespace mallocmuzero::cli
