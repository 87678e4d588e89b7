#include "train/update_phase.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "learner/program_progress.h"

namespace mallocmuzero {
namespace {

// Updates whose rows are drawn at once: a game is played again once for all its rows in them. The
// price is that priorities are as old as that.
constexpr size_t kUpdatesInBlock = 16;

// Fewer where rows come with the observations of the positions behind them, for their memory.
size_t UpdatesInBlock(const v1::LearnerOptions& options) {
  if (options.consistency_weight() == 0) return kUpdatesInBlock;
  return std::max<size_t>(1, kUpdatesInBlock / (1 + options.unroll_steps()));
}

}  // namespace

std::vector<BatchRow> DrawRows(const TrajectoryBuffer& replay, const v1::TrainConfig& config,
                               size_t updates, std::mt19937_64& random) {
  const size_t batch = config.learner().batch_size();
  const size_t best = ImitatedRows(config.learner(), batch);
  const size_t latest = batch - best;
  std::vector<DrawnPosition> drawn = replay.Draw(updates * latest, random);
  std::vector<DrawnPosition> imitated = replay.DrawBest(updates * best, random);
  std::vector<BatchRow> rows;
  rows.reserve(updates * batch);
  for (size_t u = 0; u < updates; ++u) {
    const absl::Span<DrawnPosition> own = absl::MakeSpan(drawn).subspan(u * latest, latest);
    const std::vector<float> weights =
        ImportanceWeights(own, replay.decisions(), config.replay().importance_exponent());
    for (size_t i = 0; i < own.size(); ++i) {
      rows.push_back({.drawn = std::move(own[i]), .weight = weights[i]});
    }
    for (size_t i = u * best; i < (u + 1) * best; ++i) {
      rows.push_back({.drawn = std::move(imitated[i]), .imitate = true});
    }
  }
  return rows;
}

absl::StatusOr<std::optional<v1::TrainMetrics::Losses>> UpdatePhase::Run(
    size_t updates, std::mt19937_64& random, const std::function<bool()>& stop) {
  v1::TrainMetrics::Losses losses;
  const size_t batch = config_.learner().batch_size();
  const size_t in_block = UpdatesInBlock(config_.learner());
  for (size_t done = 0; done < updates; done += in_block) {
    if (stop()) return std::nullopt;
    const size_t block = std::min(in_block, updates - done);
    const std::vector<BatchRow> rows = DrawRows(replay_, config_, block, random);
    absl::Status filled = batches_.Fill(rows, block_);
    if (!filled.ok()) return filled;
    for (size_t u = 0; u < block; ++u) {
      if (stop()) return std::nullopt;
      const UpdateResult result = learner_.Update(block_, u * batch, batch);
      AddLosses(result, 1.0 / static_cast<double>(updates), losses);
      for (size_t i = 0; i < batch; ++i) {
        if (!rows[u * batch + i].imitate) {
          replay_.SetPriority(block_.keys[u * batch + i], result.value_errors[i]);
        }
      }
    }
  }
  return losses;
}

}  // namespace mallocmuzero
