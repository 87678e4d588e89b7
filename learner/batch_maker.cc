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
#include "env/recorded_incumbent.h"

namespace mallocmuzero {
namespace {

// Groups of indices of rows that share a game.
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

// A position whose observation is wanted, and where to write it.
struct Wanted {
  size_t position = 0;
  float* observation = nullptr;  // kObservationSize floats
};

// The positions that the rows of one game want, in ascending order. Sets batch.reached.
std::vector<Wanted> WantedObservations(absl::Span<const BatchRow> rows,
                                       absl::Span<const size_t> same_game, size_t length,
                                       UnrollBatch& batch) {
  std::vector<Wanted> wanted;
  for (const size_t row : same_game) {
    const size_t first = rows[row].drawn.position;
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
  const uint8_t action = trajectory.actions()[position];
  return !game.finished() && game.access() == AccessIndex(trajectory.accesses(position)) &&
         action < kActionCount && game.IsLegal(static_cast<Action>(action));
}

// Whether the decision was searched and the action is not the one that the search found best.
bool IsExplored(const v1::Trajectory& game, int d) {
  if (std::isnan(game.root_values(d))) return false;
  const float* policy = &game.policies().Get(d * kActionCount);
  const uint8_t taken = game.actions()[d];
  return policy[taken] < *std::max_element(policy, policy + kActionCount);
}

}  // namespace

// Values and rewards of a game's decisions, as the networks are to learn them.
class BatchMaker::Targets {
 public:
  Targets(const v1::Trajectory& game, const ReturnBaseline& baseline, uint32_t access_count,
          const v1::LearnerOptions& options)
      : game_(game),
        baseline_(baseline),
        access_count_(access_count),
        td_steps_(options.td_steps()),
        to_go_(length() + 1),
        explored_(length(), -1) {
    if (baseline.is_ranked()) outcome_ = baseline.Outcome(game);
    int next = -1;
    for (int d = length() - 1; d >= 0; --d) {
      to_go_[d] = to_go_[d + 1] + HbmShare(game.rewards(d));
      if (options.cut_at_exploration() && IsExplored(game, d)) next = d;
      explored_[d] = next;
    }
  }

  // The value of a decision's position. With `to_the_end` it counts all rewards to the end of the
  // game, even behind explored decisions.
  NetworkValue Value(int d, bool to_the_end) const {
    const int bootstrap = BootstrapOf(d, to_the_end);
    if (baseline_.is_ranked()) {
      // There are no rewards before the end. The value of a search can exceed 1, an outcome cannot.
      if (bootstrap < 0) return outcome_;
      return std::clamp(SearchedValue(bootstrap), NetworkValue(-1), NetworkValue(1));
    }
    HbmShare to_go = to_go_[d];
    if (bootstrap >= 0) to_go += SearchedReturn(bootstrap) - to_go_[bootstrap];
    return baseline_.ToNetwork(to_go, AccessAt(d));
  }

  NetworkValue Reward(int d) const {
    if (baseline_.is_ranked()) return d == length() - 1 ? outcome_ : NetworkValue(0);
    return baseline_.RewardToNetwork(HbmShare(game_.rewards(d)), AccessAt(d), AccessAt(d + 1));
  }

 private:
  int length() const { return game_.accesses_size(); }

  uint32_t AccessAt(int d) const { return d < length() ? game_.accesses(d) : access_count_; }

  NetworkValue SearchedValue(int d) const { return NetworkValue(game_.root_values(d)); }

  // The return to go that the search of a decision predicted. It is converted by the baseline that
  // was in force when the game was searched; by the present one if that is not known.
  HbmShare SearchedReturn(int d) const {
    if (game_.searched_returns_size() > 0) return HbmShare(game_.searched_returns(d));
    return baseline_.FromNetwork(SearchedValue(d), AccessAt(d));
  }

  // The decision whose searched value replaces the rewards from there on; -1: none.
  int BootstrapOf(int d, bool to_the_end) const {
    if (to_the_end) return -1;
    const bool there =
        td_steps_ > 0 && td_steps_ < length() - d && !std::isnan(game_.root_values(d + td_steps_));
    const int after_steps = there ? d + td_steps_ : -1;
    const int explored = explored_[d];
    if (explored < 0 || after_steps < 0) return std::max(explored, after_steps);
    return std::min(explored, after_steps);
  }

  const v1::Trajectory& game_;
  const ReturnBaseline& baseline_;
  uint32_t access_count_;
  int td_steps_;
  NetworkValue outcome_;         // of ranked values
  std::vector<HbmShare> to_go_;  // rewards from each decision to the end, and behind the last

  // For each decision the next explored one, which can be the decision itself; -1: none. Values use
  // the searched value there, because an explored action says little about the value of its
  // position.
  std::vector<int> explored_;
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
  RecordedIncumbent incumbent(trajectory, program.rules().access_count());
  size_t played = 0;
  const float* written = nullptr;  // observation of the present position, if already written
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
      writer.Write(game, absl::MakeSpan(observation, kObservationSize), incumbent.At(position));
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
  const int first = row.drawn.position;
  const int unroll = batch.unroll;
  batch.weights[index] = row.weight;
  for (int k = 0; k <= unroll && first + k < length; ++k) {
    const int d = first + k;
    const size_t step = index * (unroll + 1) + k;
    batch.values[step] = static_cast<float>(targets.Value(d, row.imitate).value());
    const uint8_t taken = game.actions()[d];
    for (int a = 0; a < kActionCount; ++a) {
      const size_t entry = step * kActionCount + a;
      batch.policies[entry] =
          row.imitate ? (a == taken ? 1.0F : 0.0F) : game.policies(d * kActionCount + a);
    }
    if (k == unroll) break;
    batch.actions[index * unroll + k] = taken;
    batch.rewards[index * unroll + k] = static_cast<float>(targets.Reward(d).value());
  }
  for (int k = std::max(0, length - first); k < unroll; ++k) {
    batch.actions[index * unroll + k] = (index + k) % kActionCount;
  }
}

}  // namespace mallocmuzero
