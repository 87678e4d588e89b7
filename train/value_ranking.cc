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
#include "base/status_macros.h"
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

// The first access behind that share of the accesses.
AccessIndex AccessAt(const PlayedProgram& program, double share) {
  return AccessIndex(std::lround(std::ceil(share * program.rules().access_count())));
}

absl::StatusOr<std::vector<v1::Trajectory>> PlayGames(
    const PlayedProgram& program, const std::shared_ptr<const NetworkSnapshot>& network,
    const ValueRankingOptions& options, AccessIndex explored_until) {
  // The policy alone plays, but SelfPlay wants a valid search.
  const absl::StatusOr<SearchConfig> search = MakeSearchConfig(DefaultSearchOptions());
  if (!search.ok()) return search.status();
  // Each call uses the same seeds, so that games are the same until they stop exploring.
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

// The outcome of a game and its prediction at one of its decisions. Shares of the all-HBM cycles.
struct GamePrediction {
  double so_far = 0;      // saved before the decision
  double to_go = 0;       // the real return to go
  double mean_to_go = 0;  // the baseline's return to go
  double value = 0;       // the return to go that the value head predicts
  double rank = 0;        // the number of the value head

  // The return of the whole game if nothing is explored from here on; NaN if not known.
  double if_policy_followed = std::numeric_limits<double>::quiet_NaN();
};

// Writes the observation of a decision, and fills in so_far and to_go.
GamePrediction StartPrediction(const PlayedProgram& program, const v1::Trajectory& trajectory,
                               size_t decision, absl::Span<float> observation) {
  Game game(program.rules());
  for (size_t d = 0; d < decision; ++d) game.Apply(static_cast<Action>(trajectory.actions()[d]));
  ObservationWriter(program.tables()).Write(game, observation);
  return {.so_far = game.total_return(),
          .to_go = TotalReturn(trajectory).share() - game.total_return()};
}

// The index of the decision at which a game is predicted: the first one at `access` or behind it,
// but not too close to the end.
size_t DecisionOf(const v1::Trajectory& game, AccessIndex access) {
  const auto begin = game.accesses().begin();
  const auto end = game.accesses().end();
  const size_t length = game.accesses_size();
  const size_t late = length - std::min(length, kDecisionsBeforeEnd);
  return std::min<size_t>(late, std::lower_bound(begin, end, access.number()) - begin);
}

// Predicts all games at that access. Each game must have a decision. Errors are those of OnDevice.
absl::StatusOr<std::vector<GamePrediction>> PredictAll(const PlayedProgram& program,
                                                       const NetworkSnapshot& network,
                                                       const ReturnBaseline& baseline,
                                                       absl::Span<const v1::Trajectory> games,
                                                       AccessIndex access) {
  std::vector<GamePrediction> predictions;
  std::vector<float> observation(kObservationSize);
  std::vector<float> logits(kActionCount);
  for (const v1::Trajectory& game : games) {
    const size_t decision = DecisionOf(game, access);
    GamePrediction prediction =
        StartPrediction(program, game, decision, absl::MakeSpan(observation));
    float value = 0;
    MMZ_RETURN_IF_ERROR(
        network.Evaluate(observation, absl::MakeSpan(&value, 1), absl::MakeSpan(logits)));
    const uint32_t decided = game.accesses(decision);
    prediction.mean_to_go = baseline.At(decided).share();
    prediction.value = baseline.FromNetwork(NetworkValue(value), decided).share();
    prediction.rank = value;
    predictions.push_back(prediction);
  }
  return predictions;
}

// Adds the pairs of those games to a point of the report.
void Count(absl::Span<const GamePrediction> predictions, const ValueRankingOptions& options,
           Point& point) {
  const double least = options.least_difference;
  std::vector<double> whole, predicted, without_value, by_policy, to_go, values;
  for (const GamePrediction& prediction : predictions) {
    whole.push_back(prediction.so_far + prediction.to_go);
    predicted.push_back(options.ranked ? prediction.rank : prediction.so_far + prediction.value);
    without_value.push_back(prediction.so_far + prediction.mean_to_go);
    by_policy.push_back(prediction.if_policy_followed);
    to_go.push_back(prediction.to_go);
    values.push_back(prediction.value);
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
      PlayGames(program, network, options, std::numeric_limits<int32_t>::max());
  if (!to_the_end.ok()) return to_the_end.status();
  const ReturnBaseline own = BaselineOf(program, *to_the_end);
  const ReturnBaseline& measure = baseline == nullptr ? own : *baseline;
  // `followed` has the same games, which follow the policy from `access` on; empty if there are
  // none.
  const auto count = [&](const char* explored, double at, AccessIndex access,
                         absl::Span<const v1::Trajectory> games,
                         absl::Span<const v1::Trajectory> followed) -> absl::Status {
    absl::StatusOr<std::vector<GamePrediction>> predictions =
        PredictAll(program, *network, measure, games, access);
    if (!predictions.ok()) return predictions.status();
    for (size_t g = 0; g < followed.size(); ++g) {
      (*predictions)[g].if_policy_followed = TotalReturn(followed[g]).share();
    }
    Count(*predictions, options, FindPoint(explored, at, *report.mutable_points()));
    Point& total = FindPoint(explored, 0, *report.mutable_totals());
    Count(*predictions, options, total);
    // Some points do not have it.
    total.clear_whole_by_policy();
    return absl::OkStatus();
  };
  for (const double share : kShares) {
    const AccessIndex access = AccessAt(program, share);
    const absl::StatusOr<std::vector<v1::Trajectory>> to_the_point =
        PlayGames(program, network, options, access);
    if (!to_the_point.ok()) return to_the_point.status();
    MMZ_RETURN_IF_ERROR(count(kToThePoint, share, access, *to_the_point, {}));
    MMZ_RETURN_IF_ERROR(count(kToTheEnd, share, access, *to_the_end, *to_the_point));
  }
  return count(kToTheEnd, 1, program.rules().end_access(), *to_the_end, {});
}

}  // namespace mallocmuzero
