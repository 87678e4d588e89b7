#include "cli/agent/run_report.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/table.h"
#include "view/format.h"
#include "view/gains.h"
#include "view/learning_curves.h"

namespace mallocmuzero::cli {
namespace {

using ProgramResult = v1::RunReport::Program;
using Iterations = absl::Span<const v1::TrainMetrics>;

// A program may not be played in every iteration.
std::optional<double> LastSelfPlay(Iterations iterations,
                                   const v1::TrainMetrics::Program& program) {
  for (auto metrics = iterations.rbegin(); metrics != iterations.rend(); ++metrics) {
    const v1::TrainMetrics::Program* then = view::FindProgram(*metrics, program);
    if (then == nullptr || !then->has_mean_return()) continue;
    return view::CyclesSaved(*then, then->mean_return());
  }
  return std::nullopt;
}

// A run may be too young for an evaluation of its policy, or a cluster may play none.
bool HasPolicy(const v1::RunReport& report) {
  return std::any_of(report.programs().begin(), report.programs().end(),
                     [](const ProgramResult& program) { return program.has_policy(); });
}

void SetLosses(Iterations iterations, v1::RunReport& report) {
  for (auto metrics = iterations.rbegin(); metrics != iterations.rend(); ++metrics) {
    if (!metrics->has_losses()) continue;
    report.set_policy_loss(metrics->losses().policy());
    report.set_value_loss(metrics->losses().value());
    report.set_reward_loss(metrics->losses().reward());
    report.set_value_error(metrics->losses().value_error());
    return;
  }
}

std::string Saved(bool known, double share) {
  return known ? absl::StrFormat("%+.2f %%", 100 * share) : "";
}

Table ProgramTable(const v1::RunReport& report) {
  std::vector<Table::Column> columns = {{"cycles saved", Table::Align::kLeft},
                                        {"self-play", Table::Align::kRight}};
  const bool has_policy = HasPolicy(report);
  if (has_policy) columns.push_back({"policy", Table::Align::kRight});
  columns.push_back({"best", Table::Align::kRight});
  columns.push_back({"greedy", Table::Align::kRight});
  columns.push_back({"against", Table::Align::kLeft});
  Table table(std::move(columns));
  for (const ProgramResult& p : report.programs()) {
    std::vector<std::string> row = {view::NameOnChip(p.program(), p.hardware()),
                                    Saved(p.has_self_play(), p.self_play())};
    if (has_policy) row.push_back(Saved(p.has_policy(), p.policy()));
    row.push_back(Saved(p.has_best(), p.best()));
    row.push_back(Saved(true, p.greedy()));
    row.push_back(p.against_default() ? "default" : "all in HBM");
    table.AddRow(std::move(row));
  }
  return table;
}

using Facts = std::vector<std::pair<std::string, std::string>>;

Facts FactsOf(const v1::RunReport& report) {
  const auto loss = [](bool known, double value) {
    return known ? absl::StrFormat("%.4f", value) : "";
  };
  return {
      {"time", view::FormatTime(report.seconds())},
      {"iterations", FormatCount(report.iterations())},
      {"games", FormatCount(report.games())},
      {"decisions", FormatCount(report.decisions())},
      {"updates", FormatCount(report.updates())},
      {"policy loss, nats", loss(report.has_policy_loss(), report.policy_loss())},
      {"value loss, nats", loss(report.has_value_loss(), report.value_loss())},
      {"reward loss, nats", loss(report.has_reward_loss(), report.reward_loss())},
      {"value error, units of the baseline", loss(report.has_value_error(), report.value_error())}};
}

}  // namespace

v1::RunReport MakeRunReport(const std::string& run, const std::string& folder,
                            Iterations iterations) {
  const v1::TrainMetrics& last = iterations.back();
  const auto path = [&](const char* name) {
    return (std::filesystem::path(folder) / name).string();
  };
  v1::RunReport report;
  report.set_run(run);
  report.set_report(path("report.md"));
  report.set_returns(path("returns.svg"));
  report.set_losses(path("losses.svg"));
  report.set_speed(path("speed.svg"));
  report.set_seconds(last.seconds());
  report.set_iterations(last.iteration());
  report.set_games(last.games());
  report.set_decisions(last.decisions());
  report.set_updates(last.updates());
  SetLosses(iterations, report);
  for (const int p : view::ProgramsByGain(last)) {
    const v1::TrainMetrics::Program& program = last.programs(p);
    ProgramResult& entry = *report.add_programs();
    entry.set_program(program.name());
    entry.set_hardware(program.hardware());
    entry.set_against_default(program.has_default_return());
    const std::optional<double> self_play = LastSelfPlay(iterations, program);
    if (self_play.has_value()) entry.set_self_play(*self_play);
    if (program.has_policy_return()) {
      entry.set_policy(view::CyclesSaved(program, program.policy_return()));
    }
    if (program.has_best_return()) {
      entry.set_best(view::CyclesSaved(program, program.best_return()));
    }
    entry.set_greedy(view::CyclesSaved(program, program.greedy_return()));
  }
  return report;
}

std::string RunReportText(const v1::RunReport& report) {
  return absl::StrCat(FactList(FactsOf(report)), "\n", ProgramTable(report).ToText(), "\n",
                      report.report(), " shows the pictures\n");
}

std::string RunReportMarkdown(const v1::RunReport& report) {
  Table facts({{"figure", Table::Align::kLeft}, {"last", Table::Align::kRight}});
  for (const auto& [name, value] : FactsOf(report)) {
    if (!value.empty()) facts.AddRow({name, value});
  }
  const auto picture = [](const char* title, const std::string& path) {
    return absl::StrCat("![", title, "](", std::filesystem::path(path).filename().string(),
                        ")\n\n");
  };
  return absl::StrCat("# Training run ", report.run(), "\n\n", picture("Returns", report.returns()),
                      ProgramTable(report).ToMarkdown(), "\n",
                      "Cycles saved: self-play is the mean of the last iteration that played the "
                      "program, ",
                      HasPolicy(report) ? "policy the\nlast game of the policy with search and "
                                          "without exploration, "
                                        : "",
                      "best the best game of the run, greedy the\ngreedy solver's game.\n\n",
                      picture("Losses", report.losses()), facts.ToMarkdown(), "\n",
                      picture("Speed", report.speed()));
}

}  // namespace mallocmuzero::cli
