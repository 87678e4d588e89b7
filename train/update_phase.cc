#include "train/update_phase.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "learner/program_progress.h"
#include "learner/row_weights.h"

namespace mallocmuzero {
namespace {

// The number of updates whose rows are drawn together: a game is played again only once for all its
// rows in them. The cost is that their priorities are up to that many updates old.
constexpr size_t kUpdatesInBlock = 16;

// Rows with the observations of the positions behind them need more memory, so a block has fewer.
size_t UpdatesInBlock(const v1::LearnerOptions& options) {
  if (options.consistency_weight() == 0) return kUpdatesInBlock;
  return std::max<size_t>(1, kUpdatesInBlock / (1 + options.unroll_steps()));
}

}  // namespace

UpdatePhase::UpdatePhase(const v1::TrainConfig& config, const BatchMaker& batches,
                         TrajectoryBuffer& replay, Learner& learner)
    : shape_({.rows = config.learner().batch_size(),
              .imitated = ImitatedRows(config.learner(), config.learner().batch_size()),
              .importance_exponent = config.replay().importance_exponent()}),
      updates_in_block_(UpdatesInBlock(config.learner())),
      batches_(batches),
      replay_(replay),
      learner_(learner) {}

DrawnRows UpdatePhase::Draw(size_t batches, std::mt19937_64& random) const {
  DrawnRows rows;
  rows.drawn = replay_.Draw(batches * shape_.prioritized(), random);
  rows.imitated = replay_.DrawBest(batches * shape_.imitated, random);
  rows.positions = static_cast<double>(replay_.decisions());
  return rows;
}

void UpdatePhase::SetPriorities(const LearningBatch& batch, const UpdateResult& result) {
  for (size_t i = 0; i < batch.prioritized; ++i) {
    replay_.SetPriority(batch.block->keys[batch.first + i], result.value_errors[i]);
  }
}

absl::StatusOr<std::optional<v1::TrainMetrics::Losses>> UpdatePhase::Run(
    size_t updates, std::mt19937_64& random, const std::function<bool()>& stop) {
  v1::TrainMetrics::Losses losses;
  const auto block = std::make_shared<UnrollBatch>();
  for (size_t done = 0; done < updates; done += updates_in_block_) {
    if (stop()) return std::nullopt;
    const size_t in_block = std::min(updates_in_block_, updates - done);
    absl::StatusOr<std::vector<LearningBatch>> made =
        MakeBatches(batches_, shape_, in_block, Draw(in_block, random), block);
    if (!made.ok()) return made.status();
    for (LearningBatch& batch : *made) {
      if (stop()) return std::nullopt;
      const absl::StatusOr<UpdateResult> result =
          UpdateFrom(batch, batch.LargestWeight(), learner_, nullptr);
      if (!result.ok()) return result.status();
      AddLosses(*result, 1.0 / static_cast<double>(updates), losses);
      SetPriorities(batch, *result);
    }
  }
  return losses;
}

}  // namespace mallocmuzero
