#include "train/value_ranking.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "actor/game_recorder.h"
#include "actor/self_play.h"
#include "base/random.h"
#include "env/game.h"
#include "env/observation.h"
#include "google/protobuf/repeated_field.h"
#include "replay/trajectory_buffer.h"
#include "train/player_pool.h"
#include "train/train_config.h"

namespace mallocmuzero {
namespace {

using Point = v1::ValueBenchReport::Point;

constexpr uint32_t kExploredDecisions[] = {1, 4, 16, 64};
constexpr uint32_t kExploredBySelfPlay = 4;
constexpr size_t kRates = std::size(kExploredDecisions);

constexpr double kShares[] = {0.25, 0.5, 0.75};
constexpr size_t kDecisionsBeforeEnd = 3;

constexpr char kToTheEnd[] = "to the end";
constexpr char kToThePoint[] = "to the point";

constexpr uint32_t kMaxInFlight = 128;

// The first access behind that share of them.
uint32_t AccessAt(const PlayedProgram& program, double share) {
  return static_cast<uint32_t>(std::ceil(share * program.rules().access_count()));
}

absl::StatusOr<std::vector<v1::Trajectory>> PlayGames(
    const PlayedProgram& program, const std::shared_ptr<const NetworkSnapshot>& network,
    const ValueRankingOptions& options, uint32_t explored_until) {
  // The policy alone plays; the search has to be one that could be.
  const absl::StatusOr<SearchConfig> search = MakeSearchConfig(DefaultSearchOptions());
  if (!search.ok()) return search.status();
  // The same seeds each time: games are the same until they stop exploring.
  Random random(options.seed);
  std::vector<GameTask> tasks;
  for (uint32_t g = 0; g < options.games; ++g) {
    const float explored = static_cast<float>(kExploredDecisions[g % kRates]) /
                           static_cast<float>(std::max(1U, program.decisions()));
    tasks.push_back({.program = &program,
                     .id = TrajectoryId(options.seed, 0, g),
                     .seed = random.Next(),
                     .explored = std::min(1.0F, explored),
                     .searched = 0,
                     .explored_until = explored_until});
  }
  absl::StatusOr<PlayedGames> played =
      PlayOnThreads(tasks, *search, options.threads, kMaxInFlight, network, 0, nullptr);
  if (!played.ok()) return played.status();
  return std::move(played->games);
}

// A game as it is known at one of its decisions; shares of the all-HBM cycles.
struct Standing {
  double so_far = 0;      // saved
  double to_go = 0;       // really
  double mean_to_go = 0;  // by the baseline
  double value = 0;       // what is to go, by the value head
  double rank = 0;        // the value head's own number

  // The whole return if nothing is explored from here on; NaN: not known.
  double if_policy_followed = std::numeric_limits<double>::quiet_NaN();
};

// Writes what the player saw at a decision, and says how the game stood.
Standing Observe(const PlayedProgram& program, const v1::Trajectory& trajectory, size_t decision,
                 absl::Span<float> observation) {
  Game game(program.rules());
  for (size_t d = 0; d < decision; ++d) game.Apply(static_cast<Action>(trajectory.actions()[d]));
  ObservationWriter(program.tables()).Write(game, observation);
  return {.so_far = game.total_return(), .to_go = TotalReturn(trajectory) - game.total_return()};
}

// The decision at which a game is looked at: the first one at `access` or behind it, or one near
// the end.
size_t DecisionOf(const v1::Trajectory& game, uint32_t access) {
  const auto begin = game.accesses().begin();
  const auto end = game.accesses().end();
  const auto length = static_cast<size_t>(end - begin);
  const size_t late = length - std::min(length, kDecisionsBeforeEnd);
  return std::min(late, static_cast<size_t>(std::lower_bound(begin, end, access) - begin));
}

// All games at that access. None of them is without decisions.
std::vector<Standing> Stand(const PlayedProgram& program, const NetworkSnapshot& network,
                            const ReturnBaseline& baseline, absl::Span<const v1::Trajectory> games,
                            uint32_t access) {
  std::vector<Standing> standings;
  std::vector<float> observation(kObservationSize);
  std::vector<float> logits(kActionCount);
  for (const v1::Trajectory& game : games) {
    const size_t decision = DecisionOf(game, access);
    Standing standing = Observe(program, game, decision, absl::MakeSpan(observation));
    float value = 0;
    network.Evaluate(observation, absl::MakeSpan(&value, 1), absl::MakeSpan(logits));
    standing.mean_to_go = baseline.At(game.accesses(static_cast<int>(decision)));
    standing.value = standing.mean_to_go + value * baseline.scale();
    standing.rank = value;
    standings.push_back(standing);
  }
  return standings;
}

// Adds the pairs of games that stand like that.
void Count(absl::Span<const Standing> standings, const ValueRankingOptions& options, Point& point) {
  const double least = options.least_difference;
  std::vector<double> whole, predicted, without_value, by_policy, to_go, values;
  for (const Standing& standing : standings) {
    whole.push_back(standing.so_far + standing.to_go);
    predicted.push_back(options.ranked ? standing.rank : standing.so_far + standing.value);
    without_value.push_back(standing.so_far + standing.mean_to_go);
    by_policy.push_back(standing.if_policy_followed);
    to_go.push_back(standing.to_go);
    values.push_back(standing.value);
  }
  CountPairs(whole, predicted, least, *point.mutable_whole());
  CountPairs(whole, without_value, least, *point.mutable_whole_without_value());
  if (!by_policy.empty() && !std::isnan(by_policy[0])) {
    CountPairs(whole, by_policy, least, *point.mutable_whole_by_policy());
  }
  if (!options.ranked) CountPairs(to_go, values, least, *point.mutable_to_go());
}

Point& FindPoint(const char* explored, double at,
                 google::protobuf::RepeatedPtrField<Point>& points) {
  for (Point& point : points) {
    if (point.explored() == explored && point.at() == at) return point;
  }
  Point& point = *points.Add();
  point.set_explored(explored);
  point.set_at(at);
  return point;
}

ReturnBaseline BaselineOf(const PlayedProgram& program, absl::Span<const v1::Trajectory> games) {
  ReturnBaseline baseline(program.rules().access_count());
  for (size_t g = 0; g < games.size(); ++g) {
    if (kExploredDecisions[g % kRates] == kExploredBySelfPlay) baseline.Add(games[g]);
  }
  baseline.Refresh();
  return baseline;
}

}  // namespace

void CountPairs(absl::Span<const double> truths, absl::Span<const double> predictions, double least,
                v1::ValueBenchReport::Ranking& ranking) {
  uint64_t pairs = 0;
  uint64_t halves = 0;
  for (size_t i = 0; i < truths.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double truth = truths[i] - truths[j];
      if (std::abs(truth) < least) continue;
      const double predicted = predictions[i] - predictions[j];
      ++pairs;
      if (predicted == 0) {
        ++halves;
      } else if ((predicted > 0) == (truth > 0)) {
        halves += 2;
      }
    }
  }
  const double before = ranking.right() * ranking.pairs();
  ranking.set_pairs(ranking.pairs() + static_cast<double>(pairs));
  if (ranking.pairs() == 0) return;
  ranking.set_right((before + 0.5 * static_cast<double>(halves)) / ranking.pairs());
}

absl::Status RankGames(const PlayedProgram& program,
                       const std::shared_ptr<const NetworkSnapshot>& network,
                       const ReturnBaseline* baseline, const ValueRankingOptions& options,
                       v1::ValueBenchReport& report) {
  const absl::StatusOr<std::vector<v1::Trajectory>> to_the_end =
      PlayGames(program, network, options, std::numeric_limits<uint32_t>::max());
  if (!to_the_end.ok()) return to_the_end.status();
  const ReturnBaseline own = BaselineOf(program, *to_the_end);
  const ReturnBaseline& measure = baseline == nullptr ? own : *baseline;
  const auto count = [&](absl::Span<const Standing> standings, const char* explored, double at) {
    Count(standings, options, FindPoint(explored, at, *report.mutable_points()));
    Point& total = FindPoint(explored, 0, *report.mutable_totals());
    Count(standings, options, total);
    // It is not known of all points.
    total.clear_whole_by_policy();
  };
  for (const double share : kShares) {
    const uint32_t access = AccessAt(program, share);
    const absl::StatusOr<std::vector<v1::Trajectory>> to_the_point =
        PlayGames(program, network, options, access);
    if (!to_the_point.ok()) return to_the_point.status();
    count(Stand(program, *network, measure, *to_the_point, access), kToThePoint, share);
    std::vector<Standing> standings = Stand(program, *network, measure, *to_the_end, access);
    for (size_t g = 0; g < standings.size(); ++g) {
      standings[g].if_policy_followed = TotalReturn((*to_the_point)[g]);
    }
    count(standings, kToTheEnd, share);
  }
  count(Stand(program, *network, measure, *to_the_end, program.rules().access_count()), kToTheEnd,
        1);
  return absl::OkStatus();
}

}  // namespace mallocmuzero
