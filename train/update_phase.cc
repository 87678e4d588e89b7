#include "train/update_phase.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "learner/learning_batch.h"
#include "learner/run_metrics.h"
#include "learner/updater.h"
#include "replay/drawn_position.h"

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

// Draws positions of several updates from a buffer at a time, and makes their batches in one block.
class BufferChannel final : public BatchChannel {
 public:
  // Gives `batches` batches, with the last block only as large as that needs. The arguments must
  // outlive the channel.
  BufferChannel(const v1::TrainConfig& config, size_t batches, const BatchMaker& maker,
                TrajectoryBuffer& replay, std::mt19937_64& random)
      : shape_(BatchShape::Of(config.learner(), config.learner().batch_size(),
                              config.replay().importance_exponent())),
        in_block_(UpdatesInBlock(config.learner())),
        left_(batches),
        maker_(maker),
        replay_(replay),
        random_(random) {}

  absl::StatusOr<std::optional<LearningBatch>> Next(absl::Duration /*timeout*/) override {
    if (made_.empty()) MMZ_RETURN_IF_ERROR(MakeBlock());
    std::optional<LearningBatch> next = std::move(made_.front());
    made_.pop_front();
    return next;
  }

  void SetPriorities(absl::Span<const DrawnPosition> drawn,
                     absl::Span<const double> errors) override {
    for (size_t i = 0; i < drawn.size(); ++i) {
      replay_.SetPriority({drawn[i].serial, drawn[i].position}, errors[i]);
    }
  }

 private:
  absl::Status MakeBlock() {
    const size_t batches = std::min(in_block_, left_);
    left_ -= batches;
    DrawnRows rows;
    rows.drawn = replay_.Draw(batches * shape_.prioritized(), random_);
    rows.imitated = replay_.DrawBest(batches * shape_.imitated, random_);
    rows.positions = static_cast<double>(replay_.decisions());
    absl::StatusOr<std::vector<LearningBatch>> made =
        MakeBatches(maker_, shape_, batches, std::move(rows), block_);
    if (!made.ok()) return made.status();
    made_.assign(std::make_move_iterator(made->begin()), std::make_move_iterator(made->end()));
    return absl::OkStatus();
  }

  const BatchShape shape_;
  const size_t in_block_;
  size_t left_;
  const BatchMaker& maker_;
  TrajectoryBuffer& replay_;
  std::mt19937_64& random_;
  const std::shared_ptr<UnrollBatch> block_ = std::make_shared<UnrollBatch>();
  std::deque<LearningBatch> made_;  // in block_
};

}  // namespace

absl::StatusOr<std::optional<v1::TrainMetrics::Losses>> UpdatePhase::Run(
    size_t updates, std::mt19937_64& random, const std::function<bool()>& stop) {
  v1::TrainMetrics::Losses losses;
  BufferChannel channel(config_, updates, maker_, replay_, random);
  Updater updater(learner_, channel);
  for (size_t i = 0; i < updates; ++i) {
    if (stop()) return std::nullopt;
    // The channel always has a batch, and there are no other processes to agree with.
    MMZ_RETURN_IF_ERROR(updater.Fetch(absl::ZeroDuration()).status());
    MMZ_RETURN_IF_ERROR(updater.Agree(nullptr).status());
    const absl::StatusOr<Updater::Done> done = updater.Update(nullptr);
    if (!done.ok()) return done.status();
    AddLosses(done->result, 1.0 / static_cast<double>(updates), losses);
  }
  return losses;
}

}  // namespace mallocmuzero
