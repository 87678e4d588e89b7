#include "view/learning_curves.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/percentile.h"
#include "view/format.h"
#include "view/gains.h"
#include "view/line_chart.h"

namespace mallocmuzero::view {
namespace {

using ProgramMetrics = v1::TrainMetrics::Program;
using Iterations = absl::Span<const v1::TrainMetrics>;

constexpr char kTime[] = "time, minutes";
constexpr char kSaved[] = "cycles saved, %";

double Minutes(const v1::TrainMetrics& metrics) { return metrics.seconds() / 60; }

std::string SignedPercent(absl::string_view name, double percent) {
  return absl::StrFormat("%s %+.2f %%", name, percent);
}

Chart ReturnsChart(std::string title, absl::string_view reference, Iterations iterations,
                   const std::function<Gains(const v1::TrainMetrics&)>& gains_of) {
  ChartLine self_play = {.name = "self-play, mean", .style = LineStyle::kOrange, .points = {}};
  ChartLine policy = {.name = "policy with search", .style = LineStyle::kBlue, .points = {}};
  ChartLine best = {.name = "best game", .style = LineStyle::kGreen, .points = {}};
  Gains last;
  for (const v1::TrainMetrics& metrics : iterations) {
    last = gains_of(metrics);
    // An iteration may play only some of many programs; that is no gap in this program's curve.
    if (!std::isnan(last.self_play)) self_play.points.push_back({Minutes(metrics), last.self_play});
    policy.points.push_back({Minutes(metrics), last.policy});
    best.points.push_back({Minutes(metrics), last.best});
  }
  std::vector<std::string> notes;
  if (!std::isnan(last.best)) notes.push_back(SignedPercent("best", last.best));
  if (!std::isnan(last.policy)) notes.push_back(SignedPercent("policy", last.policy));
  return {.title = std::move(title),
          .note = absl::StrJoin(notes, ", "),
          .x_label = kTime,
          .y_label = kSaved,
          .lines = {std::move(self_play), std::move(best), std::move(policy)},
          .levels = {{"greedy", LineStyle::kRedDashes, last.greedy},
                     {std::string(reference), LineStyle::kGreyDashes, 0}}};
}

std::string Facts(Iterations iterations) {
  if (iterations.empty()) return "no iterations yet";
  const v1::TrainMetrics& last = iterations.back();
  return absl::StrCat(FormatCounted(last.iteration(), "iteration"), ", ",
                      FormatCounted(last.games(), "game"), ", ",
                      FormatCounted(last.updates(), "update"), " in ", FormatTime(last.seconds()));
}

// A chart with a single line, which needs no legend.
Chart SingleLine(std::string title, std::string x_label, std::string y_label,
                 std::vector<ChartPoint> points) {
  return {.title = std::move(title),
          .note = "",
          .x_label = std::move(x_label),
          .y_label = std::move(y_label),
          .lines = {{.name = "", .style = LineStyle::kBlue, .points = std::move(points)}},
          .levels = {}};
}

// The shortest time between two iterations, in seconds, from which a speed is computed: three
// quarters of the median time. The last interval is left out of the median, because a cluster's
// learner adds a last iteration when it stops, after the actors have ended.
double ShortestInterval(Iterations iterations) {
  std::vector<double> seconds;
  for (size_t i = 1; i + 1 < iterations.size(); ++i) {
    seconds.push_back(iterations[i].seconds() - iterations[i - 1].seconds());
  }
  return 0.75 * Percentile(std::move(seconds), 0.5);
}

// Whether all programs of an iteration have a default.
bool HaveDefaults(const v1::TrainMetrics& metrics) {
  return std::all_of(metrics.programs().begin(), metrics.programs().end(),
                     [](const ProgramMetrics& program) { return program.has_default_return(); });
}

// The last two folders of the run's path, because a longer path does not fit on the page.
std::string TitleOf(absl::string_view run, absl::string_view what) {
  std::vector<absl::string_view> parts = absl::StrSplit(run, '/', absl::SkipEmpty());
  if (parts.size() > 2) parts.erase(parts.begin(), parts.end() - 2);
  return absl::StrCat(absl::StrJoin(parts, "/"), ": ", what);
}

}  // namespace

std::string NameOnChip(absl::string_view program, absl::string_view chip) {
  return chip.empty() ? std::string(program) : absl::StrCat(program, " on ", chip);
}

std::string ReturnsSvg(absl::string_view run, Iterations iterations) {
  std::vector<Chart> charts;
  std::string facts = Facts(iterations);
  std::vector<int> order;
  if (!iterations.empty()) order = ProgramsByGain(iterations.back());
  if (order.size() > 1) {
    std::vector<double> self_play;
    charts.push_back(ReturnsChart(
        absl::StrCat("mean of ", order.size(), " programs"), ReferenceName(iterations.back()),
        iterations, [&](const auto& m) { return MeanGains(m, iterations.back(), self_play); }));
  }
  if (order.size() > kMostProgramsDrawn) {
    absl::StrAppend(&facts, "; ", kMostProgramsDrawn, " of ", order.size(), " programs are drawn");
    order.resize(kMostProgramsDrawn);
  }
  for (const int p : order) {
    const ProgramMetrics& program = iterations.back().programs(p);
    charts.push_back(ReturnsChart(NameOnChip(program.name(), program.hardware()),
                                  ReferenceName(program), iterations,
                                  [&](const auto& m) { return GainsOf(FindProgram(m, program)); }));
  }
  if (charts.empty()) {
    charts.push_back(ReturnsChart("", "default", {}, [](const auto&) { return Gains{}; }));
  }
  // The legends name what programs without a default are compared with.
  const bool have_defaults = iterations.empty() || HaveDefaults(iterations.back());
  const char* title = have_defaults ? "cycles saved against the default" : "cycles saved";
  return ChartsSvg(TitleOf(run, title), facts, charts);
}

std::string LossesSvg(absl::string_view run, Iterations iterations) {
  using Losses = v1::TrainMetrics::Losses;
  const auto chart = [&](const char* title, const char* y_label, double (Losses::*figure)() const) {
    std::vector<ChartPoint> points;
    for (const v1::TrainMetrics& metrics : iterations) {
      points.push_back({metrics.updates(),
                        metrics.has_losses() ? (metrics.losses().*figure)() : Gains::kUnknown});
    }
    return SingleLine(title, "updates", y_label, std::move(points));
  };
  const Chart charts[] = {
      chart("policy loss", "cross-entropy, nats", &Losses::policy),
      chart("value loss", "cross-entropy, nats", &Losses::value),
      chart("reward loss", "cross-entropy, nats", &Losses::reward),
      chart("value error", "|predicted - target|, units of the baseline", &Losses::value_error),
  };
  return ChartsSvg(TitleOf(run, "losses"), Facts(iterations), charts);
}

std::string SpeedSvg(absl::string_view run, Iterations iterations) {
  std::vector<ChartPoint> games;
  std::vector<ChartPoint> simulations;
  std::vector<ChartPoint> fill;
  std::vector<ChartPoint> playing;
  const double shortest = ShortestInterval(iterations);
  const v1::TrainMetrics* before = nullptr;
  double simulated = 0;  // simulations since `before`, and the lines that have them
  double lines = 0;
  for (const v1::TrainMetrics& m : iterations) {
    const double x = Minutes(m);
    if (m.play_seconds() > 0) {
      simulations.push_back({x, m.simulations() / m.play_seconds()});
      playing.push_back({x, 100 * m.play_seconds() / (m.play_seconds() + m.learn_seconds())});
    }
    if (m.batch_fill() > 0) fill.push_back({x, m.batch_fill()});
    simulated += m.simulations();
    ++lines;
    // The first interval contains the demonstrations, so that it gives no speed.
    if (before != nullptr) {
      const double seconds = m.seconds() - before->seconds();
      if (seconds < shortest) continue;
      games.push_back({x, (m.games() - before->games()) / seconds});
      // A cluster's learner does not know the playing time of its actors, so elapsed time is used.
      if (m.play_seconds() == 0 && simulated > 0) {
        simulations.push_back({x, simulated * ThinnedOut(*before, m, lines) / seconds});
      }
    }
    simulated = 0;
    lines = 0;
    before = &m;
  }
  const bool nothing_yet = iterations.size() < 2;
  std::vector<Chart> charts;
  charts.push_back(SingleLine("games", kTime, "games per second", std::move(games)));
  const auto add = [&](const char* title, const char* y_label, std::vector<ChartPoint> points) {
    if (points.empty() && !nothing_yet) return;
    charts.push_back(SingleLine(title, kTime, y_label, std::move(points)));
  };
  add(playing.empty() && !nothing_yet ? "simulations of all actors" : "simulations while playing",
      "simulations per second", std::move(simulations));
  add("batches of self-play", "rows in a network call", std::move(fill));
  add("time playing", "playing / (playing + learning), %", std::move(playing));
  return ChartsSvg(TitleOf(run, "speed"), Facts(iterations), charts);
}

}  // namespace mallocmuzero::view
