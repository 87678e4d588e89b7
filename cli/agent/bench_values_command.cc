#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/networks/value_bench.h"
#include "cli/agent/commands.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/number_flag.h"
#include "cli/print_report.h"
#include "cli/program_set_flags.h"
#include "cli/table.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/bench.pb.h"
#include "train/value_ranking.h"
#include "view/format.h"

namespace mallocmuzero::cli {
namespace {

struct ValuesFlags {
  std::string checkpoint;
  ProgramSetFlags programs;
  ValueRankingOptions options;
  bool json = false;
};

absl::StatusOr<v1::ValueBenchReport> MakeReport(const ValuesFlags& flags) {
  const absl::StatusOr<ProgramSet> programs = LoadProgramSet(flags.programs);
  if (!programs.ok()) return programs.status();
  return bench::BenchValues(flags.checkpoint, *programs, flags.options);
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
      absl::StrFormat("%s of each program and each way of exploring, %s; pairs that differ by "
                      "%.2f %% of the all-HBM cycles or more\n\n",
                      view::FormatCounted(report.games(), "game"),
                      view::FormatCounted(report.programs(), "program"),
                      100 * report.least_difference()),
      table.ToText());
}

absl::StatusOr<ExitCode> RunValues(const ValuesFlags& flags) {
  const absl::StatusOr<v1::ValueBenchReport> report = MakeReport(flags);
  if (!report.ok()) return report.status();
  return flags.json ? PrintJson(*report) : PrintText(ReportText(*report));
}

}  // namespace

void AddBenchValuesCommand(CLI::App& parent, CommandBody& body) {
  CLI::App* command = AddSubcommand(parent, "values");
  const auto flags = std::make_shared<ValuesFlags>();
  command
      ->add_option("--checkpoint", flags->checkpoint,
                   "The checkpoint, from a training run, whose values are judged.")
      ->type_name("FILE")
      ->required();
  AddProgramSetFlags(*command, "play", flags->programs);
  command
      ->add_option("--games", flags->options.games,
                   "The number of games for each program and each way of exploring.")
      ->type_name("N")
      ->check(WholeNumber(2, 4096))
      ->capture_default_str();
  command
      ->add_option("--least-difference", flags->options.least_difference,
                   "Two games are compared if their cycles differ by this share of the all-HBM "
                   "cycles or more.")
      ->type_name("SHARE")
      ->check(NumberBetween(1e-9, 1))
      ->capture_default_str();
  command->add_option("--threads", flags->options.threads, "The number of threads that play.")
      ->type_name("N")
      ->check(WholeNumber(1, 1024))
      ->capture_default_str();
  command->add_option("--seed", flags->options.seed, "The seed of all random choices.")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
  AddJsonFlag(*command, "ValueBenchReport", flags->json);
  command->callback([flags, &body] { body.run = [flags] { return RunValues(*flags); }; });
}

}  // namespace mallocmuzero::cli
