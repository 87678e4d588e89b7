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

// Indices of rows that share a game, each group by position.
std::vector<std::vector<size_t>> GroupByGame(absl::Span<const BatchRow> rows) {
  absl::flat_hash_map<const v1::Trajectory*, size_t> group_of;
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto [it, is_new] = group_of.try_emplace(rows[i].drawn.trajectory.get(), groups.size());
    if (is_new) groups.emplace_back();
    groups[it->second].push_back(i);
  }
  for (std::vector<size_t>& group : groups) {
    std::stable_sort(group.begin(), group.end(), [&](size_t a, size_t b) {
      return rows[a].drawn.key.position < rows[b].drawn.key.position;
    });
  }
  return groups;
}

bool Matches(const Game& game, const v1::Trajectory& trajectory, size_t position) {
  const auto action = static_cast<uint8_t>(trajectory.actions()[position]);
  return !game.finished() && game.access() == trajectory.accesses(static_cast<int>(position)) &&
         action < kActionCount && game.IsLegal(static_cast<Action>(action));
}

}  // namespace

void UnrollBatch::Resize(size_t new_rows, size_t new_unroll) {
  rows = new_rows;
  unroll = new_unroll;
  observations.resize(rows * kObservationSize);
  actions.assign(rows * unroll, 0);
  rewards.assign(rows * unroll, 0);
  values.assign(rows * (unroll + 1), 0);
  policies.assign(rows * (unroll + 1) * kActionCount, 0);
  weights.assign(rows, 1);
  keys.resize(rows);
}

BatchMaker::BatchMaker(const ProgramSet& programs, const Baselines& baselines,
                       const v1::LearnerOptions& options, uint32_t threads)
    : programs_(programs), baselines_(baselines), options_(options), threads_(threads) {}

absl::Status BatchMaker::Fill(absl::Span<const BatchRow> rows, UnrollBatch& batch) const {
  batch.Resize(rows.size(), options_.unroll_steps());
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
  Game game(program->rules());
  ObservationWriter writer(program->tables());
  size_t played = 0;
  for (const size_t row : same_game) {
    const size_t position = rows[row].drawn.key.position;
    for (; played < position; ++played) {
      if (!Matches(game, trajectory, played)) break;
      game.Apply(static_cast<Action>(trajectory.actions()[played]));
    }
    if (played < position || !Matches(game, trajectory, position)) {
      return absl::InvalidArgumentError(absl::StrCat(
          program->name(), ": decision ", played,
          " of a stored game is not what the game asks; was it played by other rules?"));
    }
    writer.Write(
        game, absl::MakeSpan(batch.observations).subspan(row * kObservationSize, kObservationSize));
    FillTargets(rows[row], baseline->second, program->rules().access_count(), row, batch);
  }
  return absl::OkStatus();
}

void BatchMaker::FillTargets(const BatchRow& row, const ReturnBaseline& baseline,
                             uint32_t access_count, size_t index, UnrollBatch& batch) const {
  const v1::Trajectory& game = *row.drawn.trajectory;
  const int length = game.accesses_size();
  const auto first = static_cast<int>(row.drawn.key.position);
  const auto unroll = static_cast<int>(batch.unroll);
  const int bootstrap = static_cast<int>(options_.td_steps());
  const auto baseline_at = [&](int d) {
    return baseline.At(d < length ? game.accesses(d) : access_count);
  };
  // To-go of each step, by summing from the end, or from where the network's value is used.
  const auto to_go = [&](int d) {
    int end = length;
    double value = 0;
    if (bootstrap > 0 && d + bootstrap < length && !std::isnan(game.root_values(d + bootstrap))) {
      end = d + bootstrap;
      value = game.root_values(end) * baseline.scale() + baseline_at(end);
    }
    for (int i = end - 1; i >= d; --i) value += game.rewards(i);
    return value;
  };
  batch.weights[index] = row.weight;
  batch.keys[index] = row.drawn.key;
  for (int k = 0; k <= unroll && first + k < length; ++k) {
    const int d = first + k;
    const size_t step = index * (unroll + 1) + k;
    batch.values[step] = static_cast<float>((to_go(d) - baseline_at(d)) / baseline.scale());
    const auto taken = static_cast<uint8_t>(game.actions()[d]);
    for (int a = 0; a < kActionCount; ++a) {
      const size_t entry = step * kActionCount + a;
      batch.policies[entry] =
          row.imitate ? (a == taken ? 1.0F : 0.0F) : game.policies(d * kActionCount + a);
    }
    if (k == unroll) break;
    batch.actions[index * unroll + k] = taken;
    const double falls = baseline_at(d) - baseline_at(d + 1);
    batch.rewards[index * unroll + k] =
        static_cast<float>((game.rewards(d) - falls) / baseline.scale());
  }
}

std::vector<float> ImportanceWeights(absl::Span<const DrawnPosition> drawn, size_t positions,
                                     float exponent) {
  std::vector<float> weights;
  weights.reserve(drawn.size());
  for (const DrawnPosition& row : drawn) {
    const double share = row.probability * static_cast<double>(positions);
    weights.push_back(static_cast<float>(std::pow(1 / share, exponent)));
  }
  const float most = weights.empty() ? 1 : *std::max_element(weights.begin(), weights.end());
  for (float& weight : weights) weight /= most;
  return weights;
}

}  // namespace mallocmuzero
