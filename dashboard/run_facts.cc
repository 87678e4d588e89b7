#include "dashboard/run_facts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/percentile.h"
#include "view/format.h"
#include "view/gains.h"

namespace mallocmuzero {
namespace {

using Iterations = absl::Span<const v1::TrainMetrics>;
using view::Gains;

constexpr double kUnknown = Gains::kUnknown;

// Changes of the mean gain, in percentage points, from which a run learns or gets worse.
constexpr double kLearns = 0.05;
constexpr double kGetsWorse = -0.3;

// The share of the time of both from which one half of an iteration takes most of it.
constexpr double kMostOfTheTime = 0.6;

// A run needs this number of points before its direction can be told.
constexpr int kFewestPoints = 8;

void AddGains(double seconds, const Gains& gains, v1::DashboardGains& to) {
  to.add_seconds(Rounded(seconds));
  to.add_self_play(Rounded(gains.self_play));
  to.add_policy(Rounded(gains.policy));
  to.add_best(Rounded(gains.best));
}

v1::DashboardGains GainsOver(Iterations iterations,
                             const std::function<Gains(const v1::TrainMetrics&)>& gains_of) {
  v1::DashboardGains result;
  Gains gains;
  double self_play = kUnknown;
  for (const size_t i : PointsOf(iterations.size())) {
    gains = gains_of(iterations[i]);
    // An iteration may play only some of many programs; that is no gap in the curve.
    if (!std::isnan(gains.self_play)) self_play = gains.self_play;
    gains.self_play = self_play;
    AddGains(iterations[i].seconds(), gains, result);
  }
  if (!std::isnan(gains.greedy)) result.set_greedy(Rounded(gains.greedy));
  return result;
}

// Means of the known values in the third and in the last quarter of the run's time.
struct Quarters {
  double before = 0;
  double after = 0;
  bool is_constant = true;  // all values of both are the same
};

// The quarters are of time, because the older lines of a long run are thinned out.
std::optional<Quarters> CompareQuarters(const google::protobuf::RepeatedField<double>& seconds,
                                        const google::protobuf::RepeatedField<double>& column) {
  int known = 0;
  double end = 0;
  for (int i = 0; i < column.size(); ++i) {
    if (std::isnan(column[i])) continue;
    ++known;
    end = std::max(end, seconds[i]);
  }
  double sums[2] = {0, 0};
  int counts[2] = {0, 0};
  std::optional<double> first;
  Quarters quarters;
  for (int i = 0; i < column.size(); ++i) {
    if (std::isnan(column[i]) || !(seconds[i] > end / 2)) continue;
    const int later = seconds[i] > 0.75 * end ? 1 : 0;
    sums[later] += column[i];
    ++counts[later];
    if (!first.has_value()) first = column[i];
    quarters.is_constant = quarters.is_constant && column[i] == *first;
  }
  if (known < kFewestPoints || counts[0] == 0 || counts[1] == 0) return std::nullopt;
  quarters.before = sums[0] / counts[0];
  quarters.after = sums[1] / counts[1];
  return quarters;
}

v1::DashboardFinding Finding(v1::DashboardFinding::Level level, const char* title,
                             std::string text) {
  v1::DashboardFinding finding;
  finding.set_level(level);
  finding.set_title(title);
  finding.set_text(std::move(text));
  return finding;
}

v1::DashboardFinding WhetherItLearns(const v1::DashboardGains& mean) {
  const std::optional<Quarters> policy = CompareQuarters(mean.seconds(), mean.policy());
  const std::optional<Quarters> self_play = CompareQuarters(mean.seconds(), mean.self_play());
  // A policy that always plays the same may not have been evaluated for long.
  const bool shows_policy = policy.has_value() && !std::isnan(*mean.policy().rbegin()) &&
                            !(policy->is_constant && self_play.has_value());
  const auto& column = shows_policy ? mean.policy() : mean.self_play();
  const char* player = shows_policy ? "The policy with search" : "Self-play";
  const std::optional<Quarters>& quarters = shows_policy ? policy : self_play;
  if (!quarters.has_value()) {
    return Finding(v1::DashboardFinding::NEUTRAL, "Starting",
                   "There are too few iterations to tell whether the run learns.");
  }
  const double now = column[column.size() - 1];
  const double change = quarters->after - quarters->before;
  std::string text = absl::StrFormat(
      "%s saves %.2f %% of the cycles of %s. In the last quarter of the run it "
      "saved %.2f points %s than in the quarter before.",
      player, now,
      mean.reference() == "all in HBM" ? "all in HBM" : absl::StrCat("the ", mean.reference()),
      std::abs(change), change < 0 ? "less" : "more");
  if (change <= kGetsWorse) {
    return Finding(v1::DashboardFinding::WARNING, "Getting worse", std::move(text));
  }
  if (mean.has_greedy() && now < mean.greedy()) {
    absl::StrAppendFormat(&text, " The greedy solver saves %.2f %%.", mean.greedy());
    return Finding(v1::DashboardFinding::WARNING,
                   change >= kLearns ? "Learning, below greedy" : "Below greedy", std::move(text));
  }
  if (change >= kLearns) {
    return Finding(v1::DashboardFinding::GOOD, "Learning", std::move(text));
  }
  return Finding(v1::DashboardFinding::NEUTRAL, "Level", std::move(text));
}

std::optional<v1::DashboardFinding> WhenTheBestWasFound(Iterations iterations,
                                                        const v1::DashboardGains& mean) {
  if (mean.best().empty()) return std::nullopt;
  const double best = mean.best(mean.best_size() - 1);
  if (std::isnan(best)) return std::nullopt;
  int found = mean.best_size() - 1;
  while (found > 0 && mean.best(found - 1) >= best) --found;
  const double seconds = std::max(0.0, iterations.back().seconds() - mean.seconds(found));
  const std::string when =
      found == mean.best_size() - 1
          ? "in the latest iteration"
          : absl::StrCat(view::FormatTime(seconds), " before the latest iteration");
  const int programs = iterations.back().programs_size();
  const std::string saved = programs == 1
                                ? absl::StrFormat("The best game saves %.2f %%.", best)
                                : absl::StrFormat("The best games save %.2f %% in the mean of %s.",
                                                  best, view::FormatCounted(programs, "program"));
  return Finding(v1::DashboardFinding::NEUTRAL, "Best games",
                 absl::StrCat(saved, " The last better game was found ", when, "."));
}

// Only for runs that play and learn in one process.
std::optional<v1::DashboardFinding> WhichHalfIsSlower(Iterations iterations) {
  double playing = 0;
  double learning = 0;
  constexpr size_t kLatest = 20;
  for (size_t i = iterations.size() - std::min(iterations.size(), kLatest); i < iterations.size();
       ++i) {
    playing += iterations[i].play_seconds();
    learning += iterations[i].learn_seconds();
  }
  if (playing <= 0 || playing + learning <= 0) return std::nullopt;
  const double share = playing / (playing + learning);
  const char* verdict = share > kMostOfTheTime       ? "Playing takes most of the time."
                        : share < 1 - kMostOfTheTime ? "Learning takes most of the time."
                                                     : "Playing and learning take about the same "
                                                       "time.";
  return Finding(v1::DashboardFinding::NEUTRAL, "Bottleneck",
                 absl::StrFormat("%s Of the time of both, %.0f %% is playing and %.0f %% is "
                                 "learning in the latest iterations.",
                                 verdict, 100 * share, 100 * (1 - share)));
}

}  // namespace

std::vector<size_t> PointsOf(size_t count) {
  const size_t stride = std::max<size_t>(1, (count + kMostPoints - 1) / kMostPoints);
  std::vector<size_t> points;
  if (count == 0) return points;
  for (size_t i = (count - 1) % stride; i < count; i += stride) points.push_back(i);
  return points;
}

double Rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 7 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

std::optional<double> UsualInterval(Iterations iterations) {
  constexpr size_t kLatest = 20;
  std::vector<double> seconds;
  for (size_t i = std::max<size_t>(1, iterations.size() - std::min(iterations.size(), kLatest));
       i < iterations.size(); ++i) {
    seconds.push_back(iterations[i].seconds() - iterations[i - 1].seconds());
  }
  if (seconds.empty()) return std::nullopt;
  return Percentile(std::move(seconds), 0.5);
}

v1::DashboardCurves MakeCurves(Iterations iterations) {
  v1::DashboardCurves curves;
  const v1::TrainMetrics* before = nullptr;
  double simulations = 0;  // since `before`
  size_t next = 0;
  for (const size_t i : PointsOf(iterations.size())) {
    double playing = 0;
    const auto lines = static_cast<double>(i + 1 - next);
    for (; next <= i; ++next) {
      simulations += iterations[next].simulations();
      playing += iterations[next].play_seconds();
    }
    const v1::TrainMetrics& m = iterations[i];
    const double seconds = before == nullptr ? 0 : m.seconds() - before->seconds();
    const double both = m.play_seconds() + m.learn_seconds();
    const auto loss = [&m](double value) { return m.has_losses() ? Rounded(value) : kUnknown; };
    curves.add_iteration(m.iteration());
    curves.add_seconds(Rounded(m.seconds()));
    curves.add_updates(m.updates());
    curves.add_games_per_second(seconds > 0 ? Rounded((m.games() - before->games()) / seconds)
                                            : kUnknown);
    // A cluster's learner does not know the playing time of its actors, so elapsed time is used.
    if (playing == 0 && before != nullptr) simulations *= view::ThinnedOut(*before, m, lines);
    const double simulating = playing > 0 ? playing : seconds;
    curves.add_simulations_per_second(simulating > 0 ? Rounded(simulations / simulating)
                                                     : kUnknown);
    curves.add_playing_percent(m.play_seconds() > 0 ? Rounded(100 * m.play_seconds() / both)
                                                    : kUnknown);
    curves.add_batch_fill(m.batch_fill() > 0 ? Rounded(m.batch_fill()) : kUnknown);
    curves.add_policy_loss(loss(m.losses().policy()));
    curves.add_value_loss(loss(m.losses().value()));
    curves.add_reward_loss(loss(m.losses().reward()));
    curves.add_value_error(loss(m.losses().value_error()));
    curves.add_gradient_norm(loss(m.losses().gradient_norm()));
    curves.add_learning_rate(loss(m.losses().learning_rate()));
    // A cluster's learner does not know what the shards store.
    const bool stores = m.replay_games() > 0;
    curves.add_replay_games(stores ? m.replay_games() : kUnknown);
    curves.add_replay_decisions(stores ? m.replay_decisions() : kUnknown);
    simulations = 0;
    before = &m;
  }
  return curves;
}

v1::DashboardGains MakeGains(Iterations iterations, absl::string_view chip,
                             absl::string_view program) {
  if (iterations.empty()) return {};
  v1::TrainMetrics::Program wanted;
  wanted.set_name(std::string(program));
  wanted.set_hardware(std::string(chip));
  const v1::TrainMetrics::Program* last = view::FindProgram(iterations.back(), wanted);
  if (last == nullptr) return {};
  v1::DashboardGains gains = GainsOver(iterations, [&](const v1::TrainMetrics& metrics) {
    return view::GainsOf(view::FindProgram(metrics, wanted));
  });
  gains.set_reference(view::ReferenceName(*last));
  return gains;
}

v1::DashboardGains MakeMeanGains(Iterations iterations) {
  if (iterations.empty() || iterations.back().programs().empty()) return {};
  std::vector<double> self_play;
  const v1::TrainMetrics& last = iterations.back();
  v1::DashboardGains gains = GainsOver(iterations, [&](const v1::TrainMetrics& metrics) {
    return view::MeanGains(metrics, last, self_play);
  });
  gains.set_reference(view::ReferenceName(last));
  return gains;
}

std::vector<v1::DashboardProgramRow> MakeProgramRows(Iterations iterations) {
  std::vector<v1::DashboardProgramRow> rows;
  if (iterations.empty()) return rows;
  const v1::TrainMetrics& last = iterations.back();
  for (const int p : view::ProgramsByGain(last)) {
    const v1::TrainMetrics::Program& program = last.programs(p);
    Gains gains = view::GainsOf(&program);
    // A program may not be played in every iteration.
    for (auto m = iterations.rbegin(); std::isnan(gains.self_play) && m != iterations.rend(); ++m) {
      gains.self_play = view::GainsOf(view::FindProgram(*m, program)).self_play;
    }
    v1::DashboardProgramRow& row = rows.emplace_back();
    row.set_name(program.name());
    row.set_hardware(program.hardware());
    row.set_against_default(program.has_default_return());
    if (!std::isnan(gains.self_play)) row.set_self_play(Rounded(gains.self_play));
    if (!std::isnan(gains.policy)) row.set_policy(Rounded(gains.policy));
    if (!std::isnan(gains.best)) row.set_best(Rounded(gains.best));
    if (!std::isnan(gains.greedy)) row.set_greedy(Rounded(gains.greedy));
  }
  return rows;
}

std::vector<v1::DashboardFinding> MakeFindings(Iterations iterations,
                                               const v1::DashboardGains& mean) {
  if (iterations.empty()) {
    return {Finding(v1::DashboardFinding::NEUTRAL, "Starting", "No iteration is finished yet.")};
  }
  std::vector<v1::DashboardFinding> findings = {WhetherItLearns(mean)};
  for (const std::optional<v1::DashboardFinding>& finding :
       {WhenTheBestWasFound(iterations, mean), WhichHalfIsSlower(iterations)}) {
    if (finding.has_value()) findings.push_back(*finding);
  }
  return findings;
}

}  // namespace mallocmuzero
