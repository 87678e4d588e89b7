#include "cli/agent/train_view.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/steady_clock.h"
#include "cli/table.h"
#include "view/format.h"
#include "view/gains.h"
#include "view/learning_curves.h"

namespace mallocmuzero::cli {
namespace {

constexpr int kProgramsShown = 12;
constexpr absl::Duration kLogInterval = absl::Seconds(10);

std::string GainText(const v1::TrainMetrics::Program& program, bool known, double value) {
  return known ? absl::StrFormat("%+.2f %%", 100 * view::CyclesSaved(program, value)) : "";
}

// The progress of the only program, or the mean of all programs; empty before the first game.
std::string StandingText(const v1::TrainMetrics& metrics) {
  double sum = 0;
  int known = 0;
  for (const v1::TrainMetrics::Program& program : metrics.programs()) {
    if (!program.has_best_return()) continue;
    sum += view::CyclesSaved(program, program.best_return());
    ++known;
  }
  if (known == 0) return "";
  if (metrics.programs_size() == 1) {
    const v1::TrainMetrics::Program& program = metrics.programs(0);
    std::string text =
        absl::StrCat("against ", program.has_default_return() ? "the default" : "all in HBM",
                     ": best ", GainText(program, true, program.best_return()));
    if (program.has_policy_return()) {
      absl::StrAppend(&text, ", policy ", GainText(program, true, program.policy_return()));
    }
    return text;
  }
  const std::string of =
      known == metrics.programs_size()
          ? ""
          : absl::StrCat(" of ", known, " of ", metrics.programs_size(), " programs");
  return absl::StrFormat("best games%s save %+.2f %% on average", of, 100 * sum / known);
}

std::string Saved(double cycles, double against) {
  return absl::StrFormat("%+.2f %%", 100 * (1 - cycles / against));
}

}  // namespace

TrainView::TrainView() : is_terminal_(isatty(STDERR_FILENO) != 0), next_(SteadyNow()) {}

void TrainView::Show(const v1::TrainMetrics& metrics) {
  if (!is_terminal_) {
    const absl::Time now = SteadyNow();
    if (now < next_) return;
    next_ = now + kLogInterval;
    std::fputs(absl::StrCat("mallocmuzero: ", IterationLine(metrics), "\n").c_str(), stderr);
    return;
  }
  // Short lines fit on a narrow terminal.
  std::string text = absl::StrCat(absl::StrReplaceAll(IterationLine(metrics), {{"; ", "\n"}}), "\n",
                                  ProgramLines(metrics, kProgramsShown));
  std::fputs(OverwriteText(shown_, text).c_str(), stderr);
  shown_ = std::move(text);
}

std::string OverwriteText(absl::string_view before, absl::string_view text) {
  const auto lines = std::count(before.begin(), before.end(), '\n');
  // Moves the cursor up to the first line of the text and clears the screen from there.
  const std::string back = lines > 0 ? absl::StrCat("\x1b[", lines, "A\x1b[J") : "";
  // One write call turns auto-wrap off and on again, so that no other output comes in between.
  return absl::StrCat("\x1b[?7l", back, text, "\x1b[?7h");
}

std::string IterationLine(const v1::TrainMetrics& metrics) {
  const double play = std::max(1e-9, metrics.play_seconds());
  std::string line = absl::StrFormat(
      "%.0f s, iteration %u: %.0f games, %.0f simulations/s, batches of %.0f, playing %.0f %% of "
      "the time",
      metrics.seconds(), metrics.iteration(), metrics.games(), metrics.simulations() / play,
      metrics.batch_fill(), 100 * play / (play + metrics.learn_seconds()));
  if (metrics.has_losses()) {
    absl::StrAppendFormat(&line, "; %.0f updates, losses: policy %.3f, value %.3f, reward %.3f",
                          metrics.updates(), metrics.losses().policy(), metrics.losses().value(),
                          metrics.losses().reward());
    if (metrics.losses().has_consistency()) {
      absl::StrAppendFormat(&line, ", consistency %.3f", metrics.losses().consistency());
    }
  }
  const std::string standing = StandingText(metrics);
  return standing.empty() ? line : absl::StrCat(line, "; ", standing);
}

std::string ProgramLines(const v1::TrainMetrics& metrics, int most) {
  const std::vector<int> programs = view::ProgramsByGain(metrics);
  Table table({{"cycles saved", Table::Align::kLeft},
               {"self-play", Table::Align::kRight},
               {"policy", Table::Align::kRight},
               {"best", Table::Align::kRight},
               {"greedy", Table::Align::kRight}});
  const auto shown = std::min<size_t>(programs.size(), most);
  for (size_t i = 0; i < shown; ++i) {
    const v1::TrainMetrics::Program& p = metrics.programs(programs[i]);
    table.AddRow({view::NameOnChip(p.name(), p.hardware()),
                  GainText(p, p.has_mean_return(), p.mean_return()),
                  GainText(p, p.has_policy_return(), p.policy_return()),
                  GainText(p, p.has_best_return(), p.best_return()),
                  GainText(p, true, p.greedy_return())});
  }
  std::string text = table.ToText();
  if (shown < programs.size()) {
    absl::StrAppend(&text, "and ", programs.size() - shown, " programs more\n");
  }
  return text;
}

std::string TrainText(const v1::TrainReport& report) {
  std::string text = absl::StrFormat(
      "%s: %s, %s, %s in %.0f s%s\n\n"
      "cycles saved against the default, or all in HBM where there is none:\n",
      report.run(), view::FormatCounted(report.iterations(), "iteration"),
      view::FormatCounted(report.games(), "game"), view::FormatCounted(report.updates(), "update"),
      report.seconds(), report.interrupted() ? ", interrupted; --resume goes on" : "");
  Table table({{"program", Table::Align::kLeft},
               {"default Mcycles", Table::Align::kRight},
               {"all in HBM", Table::Align::kRight},
               {"greedy", Table::Align::kRight},
               {"policy with search", Table::Align::kRight},
               {"best", Table::Align::kRight},
               {"found by", Table::Align::kLeft}});
  for (const v1::TrainReport::Program& p : report.programs()) {
    const double against = p.has_default_cycles() ? p.default_cycles() : p.all_hbm_cycles();
    table.AddRow({view::NameOnChip(p.program(), p.hardware()),
                  p.has_default_cycles() ? FormatMegacycles(p.default_cycles()) : "",
                  Saved(p.all_hbm_cycles(), against), Saved(p.greedy_cycles(), against),
                  p.has_policy_cycles() ? Saved(p.policy_cycles(), against) : "",
                  p.has_best_cycles() ? Saved(p.best_cycles(), against) : "no game yet",
                  p.best_player()});
  }
  absl::StrAppend(&text, table.ToText());
  // A run whose budget is too short for a game has no best mapping.
  const bool any =
      std::any_of(report.programs().begin(), report.programs().end(),
                  [](const v1::TrainReport::Program& p) { return !p.best_mapping().empty(); });
  if (!any) return text;
  if (report.programs_size() == 1) {
    absl::StrAppend(&text, "\nbest mapping: ", report.programs(0).best_mapping(), "\n");
  } else {
    absl::StrAppend(&text, "\nbest mappings: ", report.run(), "/best\n");
  }
  return text;
}

}  // namespace mallocmuzero::cli
