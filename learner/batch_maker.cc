#include "learner/batch_maker.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "env/game.h"
#include "env/observation.h"

namespace mallocmuzero {
namespace {

// Indices of rows that share a game.
std::vector<std::vector<size_t>> GroupByGame(absl::Span<const BatchRow> rows) {
  absl::flat_hash_map<const v1::Trajectory*, size_t> group_of;
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto [it, is_new] = group_of.try_emplace(rows[i].drawn.trajectory.get(), groups.size());
    if (is_new) groups.emplace_back();
    groups[it->second].push_back(i);
  }
  return groups;
}

// Where the observation of a position is wanted.
struct Wanted {
  size_t position = 0;
  float* observation = nullptr;  // kObservationSize floats
};

// Those of rows of one game, by position. Marks the steps that lead to a decision.
std::vector<Wanted> WantedObservations(absl::Span<const BatchRow> rows,
                                       absl::Span<const size_t> same_game, size_t length,
                                       UnrollBatch& batch) {
  std::vector<Wanted> wanted;
  for (const size_t row : same_game) {
    const size_t first = rows[row].drawn.key.position;
    wanted.push_back({first, &batch.observations[row * kObservationSize]});
    if (batch.reached.empty()) continue;
    for (size_t k = 0; k < batch.unroll && first + k + 1 < length; ++k) {
      const size_t step = row * batch.unroll + k;
      batch.reached[step] = 1;
      wanted.push_back({first + k + 1, &batch.next_observations[step * kObservationSize]});
    }
  }
  std::sort(wanted.begin(), wanted.end(),
            [](const Wanted& a, const Wanted& b) { return a.position < b.position; });
  return wanted;
}

bool Matches(const Game& game, const v1::Trajectory& trajectory, size_t position) {
  const auto action = static_cast<uint8_t>(trajectory.actions()[position]);
  return !game.finished() && game.access() == trajectory.accesses(static_cast<int>(position)) &&
         action < kActionCount && game.IsLegal(static_cast<Action>(action));
}

// Whether a search was made at the decision and something else was done than it found best.
bool IsExplored(const v1::Trajectory& game, int d) {
  if (std::isnan(game.root_values(d))) return false;
  const float* policy = &game.policies().Get(d * kActionCount);
  return policy[static_cast<uint8_t>(game.actions()[d])] <
         *std::max_element(policy, policy + kActionCount);
}

}  // namespace

// Values and rewards of a game's decisions, as the networks are to see them.
class BatchMaker::Targets {
 public:
  Targets(const v1::Trajectory& game, const ReturnBaseline& baseline, uint32_t access_count,
          const v1::LearnerOptions& options)
      : game_(game),
        baseline_(baseline),
        access_count_(access_count),
        td_steps_(static_cast<int>(options.td_steps())),
        outcome_(baseline.is_ranked() ? baseline.Outcome(game) : 0),
        to_go_(length() + 1, 0),
        next_explored_(length(), -1) {
    int next = -1;
    for (int d = length() - 1; d >= 0; --d) {
      to_go_[d] = to_go_[d + 1] + game.rewards(d);
      next_explored_[d] = next;
      if (options.cut_at_exploration() && IsExplored(game, d)) next = d;
    }
  }

  // `done` is for what was done to the end, even if that was to explore.
  double Value(int d, bool done) const {
    const int bootstrap = BootstrapOf(d, done);
    if (baseline_.is_ranked()) {
      // There are no rewards on the way. A search may add up to more than can be won.
      return bootstrap < 0 ? outcome_
                           : std::clamp(static_cast<double>(game_.root_values(bootstrap)), -1., 1.);
    }
    double to_go = to_go_[d];
    if (bootstrap >= 0) {
      to_go += game_.root_values(bootstrap) * baseline_.scale() + BaselineAt(bootstrap) -
               to_go_[bootstrap];
    }
    return (to_go - BaselineAt(d)) / baseline_.scale();
  }

  double Reward(int d) const {
    if (baseline_.is_ranked()) return d == length() - 1 ? outcome_ : 0;
    const double falls = BaselineAt(d) - BaselineAt(d + 1);
    return (game_.rewards(d) - falls) / baseline_.scale();
  }

 private:
  int length() const { return game_.accesses_size(); }

  double BaselineAt(int d) const {
    return baseline_.At(d < length() ? game_.accesses(d) : access_count_);
  }

  // The decision whose searched value stands for all that follows it; -1: none.
  int BootstrapOf(int d, bool done) const {
    const bool there =
        td_steps_ > 0 && td_steps_ < length() - d && !std::isnan(game_.root_values(d + td_steps_));
    const int after_steps = there ? d + td_steps_ : -1;
    const int explored = done ? -1 : next_explored_[d];
    if (explored < 0 || after_steps < 0) return std::max(explored, after_steps);
    return std::min(explored, after_steps);
  }

  const v1::Trajectory& game_;
  const ReturnBaseline& baseline_;
  uint32_t access_count_;
  int td_steps_;
  double outcome_;
  std::vector<double> to_go_;       // rewards from each decision to the end, and behind the last
  std::vector<int> next_explored_;  // decision behind each, at which values end; -1: none
};

void UnrollBatch::Resize(size_t new_rows, size_t new_unroll, bool with_next) {
  rows = new_rows;
  unroll = new_unroll;
  observations.resize(rows * kObservationSize);
  actions.assign(rows * unroll, 0);
  rewards.assign(rows * unroll, 0);
  values.assign(rows * (unroll + 1), 0);
  policies.assign(rows * (unroll + 1) * kActionCount, 0);
  weights.assign(rows, 1);
  keys.resize(rows);
  next_observations.assign(with_next ? rows * unroll * kObservationSize : 0, 0);
  reached.assign(with_next ? rows * unroll : 0, 0);
}

BatchMaker::BatchMaker(const ProgramSet& programs, const Baselines& baselines,
                       const v1::LearnerOptions& options, uint32_t threads)
    : programs_(programs), baselines_(baselines), options_(options), threads_(threads) {}

absl::Status BatchMaker::Fill(absl::Span<const BatchRow> rows, UnrollBatch& batch) const {
  batch.Resize(rows.size(), options_.unroll_steps(), options_.consistency_weight() > 0);
  const std::vector<std::vector<size_t>> groups = GroupByGame(rows);
  std::vector<absl::Status> statuses(groups.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t g = next++; g < groups.size(); g = next++) {
      statuses[g] = FillFromGame(rows, groups[g], batch);
    }
  };
  std::vector<std::thread> helpers;
  for (uint32_t t = 1; t < threads_; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  for (const absl::Status& status : statuses) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status BatchMaker::FillFromGame(absl::Span<const BatchRow> rows,
                                      absl::Span<const size_t> same_game,
                                      UnrollBatch& batch) const {
  const v1::Trajectory& trajectory = *rows[same_game[0]].drawn.trajectory;
  const PlayedProgram* program = programs_.Find(trajectory.program_sha256());
  const auto baseline = baselines_.find(trajectory.program_sha256());
  if (program == nullptr || baseline == baselines_.end()) {
    return absl::NotFoundError("a stored game is of a program that is not in this run");
  }
  absl::Status written = WriteObservations(*program, rows, same_game, batch);
  if (!written.ok()) return written;
  const Targets targets(trajectory, baseline->second, program->rules().access_count(), options_);
  for (const size_t row : same_game) FillTargets(rows[row], targets, row, batch);
  return absl::OkStatus();
}

absl::Status BatchMaker::WriteObservations(const PlayedProgram& program,
                                           absl::Span<const BatchRow> rows,
                                           absl::Span<const size_t> same_game,
                                           UnrollBatch& batch) const {
  const v1::Trajectory& trajectory = *rows[same_game[0]].drawn.trajectory;
  Game game(program.rules());
  ObservationWriter writer(program.tables());
  size_t played = 0;
  const float* written = nullptr;  // at the position played to
  for (const auto& [position, observation] :
       WantedObservations(rows, same_game, trajectory.actions().size(), batch)) {
    for (; played < position; ++played) {
      if (!Matches(game, trajectory, played)) break;
      game.Apply(static_cast<Action>(trajectory.actions()[played]));
      written = nullptr;
    }
    if (played < position || !Matches(game, trajectory, position)) {
      return absl::InvalidArgumentError(absl::StrCat(
          program.name(), ": decision ", played,
          " of a stored game is not what the game asks; was it played by other rules?"));
    }
    if (written == nullptr) {
      writer.Write(game, absl::MakeSpan(observation, kObservationSize));
      written = observation;
    } else {
      std::copy_n(written, kObservationSize, observation);
    }
  }
  return absl::OkStatus();
}

void BatchMaker::FillTargets(const BatchRow& row, const Targets& targets, size_t index,
                             UnrollBatch& batch) {
  const v1::Trajectory& game = *row.drawn.trajectory;
  const int length = game.accesses_size();
  const auto first = static_cast<int>(row.drawn.key.position);
  const auto unroll = static_cast<int>(batch.unroll);
  batch.weights[index] = row.weight;
  batch.keys[index] = row.drawn.key;
  for (int k = 0; k <= unroll && first + k < length; ++k) {
    const int d = first + k;
    const size_t step = index * (unroll + 1) + k;
    batch.values[step] = static_cast<float>(targets.Value(d, row.imitate));
    const auto taken = static_cast<uint8_t>(game.actions()[d]);
    for (int a = 0; a < kActionCount; ++a) {
      const size_t entry = step * kActionCount + a;
      batch.policies[entry] =
          row.imitate ? (a == taken ? 1.0F : 0.0F) : game.policies(d * kActionCount + a);
    }
    if (k == unroll) break;
    batch.actions[index * unroll + k] = taken;
    batch.rewards[index * unroll + k] = static_cast<float>(targets.Reward(d));
  }
  for (int k = std::max(0, length - first); k < unroll; ++k) {
    batch.actions[index * unroll + k] = static_cast<int64_t>((index + k) % kActionCount);
  }
}

size_t ImitatedRows(const v1::LearnerOptions& options, size_t rows) {
  return static_cast<size_t>(std::lround(options.best_share() * static_cast<double>(rows)));
}

double ImportanceWeight(double probability, double positions, double exponent) {
  return std::pow(1 / (probability * positions), exponent);
}

std::vector<float> ImportanceWeights(absl::Span<const DrawnPosition> drawn, size_t positions,
                                     float exponent) {
  std::vector<float> weights;
  weights.reserve(drawn.size());
  for (const DrawnPosition& row : drawn) {
    weights.push_back(static_cast<float>(
        ImportanceWeight(row.probability, static_cast<double>(positions), exponent)));
  }
  const float most = weights.empty() ? 1 : *std::max_element(weights.begin(), weights.end());
  for (float& weight : weights) weight /= most;
  return weights;
}

}  // namespace mallocmuzero
