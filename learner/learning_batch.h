// Batches for the updates of a learner. Their positions come from a buffer of this process or from
// the shards of a cluster.

#ifndef MALLOCMUZERO_LEARNER_LEARNING_BATCH_H_
#define MALLOCMUZERO_LEARNER_LEARNING_BATCH_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "learner/batch_maker.h"
#include "learner/learner.h"
#include "mallocmuzero/v1/train.pb.h"
#include "replay/drawn_position.h"

namespace mallocmuzero {

// The numbers of rows of a batch.
struct BatchShape {
  size_t rows = 0;
  size_t imitated = 0;  // of `rows`, those that come from the best games
  double importance_exponent = 0;

  size_t prioritized() const { return rows - imitated; }

  // A batch of that many rows, of which options.best_share() are imitated.
  static BatchShape Of(const v1::LearnerOptions& options, size_t rows, double importance_exponent);
};

// One batch of a block of several.
struct LearningBatch {
  std::shared_ptr<UnrollBatch> block;
  size_t first = 0;  // row of the block that the batch begins with
  size_t rows = 0;

  // The positions of the leading rows, which were drawn by priority and get new priorities. The
  // rows after them are imitated.
  std::vector<DrawnPosition> prioritized;

  // The weights in `block` are those of RowWeights divided by this number.
  double divided_by = 1;

  // The largest weight that RowWeights gave.
  double LargestWeight() const;

  // Makes the weights those of RowWeights divided by `largest`. It may be called several times.
  void DivideWeightsBy(double largest);
};

// The drawn positions of one or more batches.
struct DrawnRows {
  std::vector<DrawnPosition> drawn;     // by priority: shape.prioritized() for each batch
  std::vector<DrawnPosition> imitated;  // of the best games: shape.imitated for each batch
  double positions = 0;                 // number of positions that `drawn` was drawn from
};

// Makes `batches` batches in one block, so that a game is played again only once for all its rows.
// `block` is overwritten: batches that were made in it before are lost. Errors are those of
// BatchMaker::Fill.
absl::StatusOr<std::vector<LearningBatch>> MakeBatches(const BatchMaker& maker,
                                                       const BatchShape& shape, size_t batches,
                                                       DrawnRows rows,
                                                       const std::shared_ptr<UnrollBatch>& block);

// Makes one update from the batch, alone (`processes` is null) or together with the other processes
// of a group. All processes pass the same `largest_weight`, the largest weight of all their
// batches, so that no row weighs more than 1. Errors are those of Learner::Update; the batch can
// then be used again.
absl::StatusOr<UpdateResult> UpdateFrom(LearningBatch& batch, double largest_weight,
                                        Learner& learner, DataParallel* processes);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_LEARNING_BATCH_H_
