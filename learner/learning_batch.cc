#include "learner/learning_batch.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/status_macros.h"
#include "learner/row_weights.h"

namespace mallocmuzero {

BatchShape BatchShape::Of(const v1::LearnerOptions& options, size_t rows,
                          double importance_exponent) {
  const size_t imitated = std::lround(options.best_share() * static_cast<double>(rows));
  return {.rows = rows, .imitated = imitated, .importance_exponent = importance_exponent};
}

double LearningBatch::LargestWeight() const {
  const absl::Span<const float> own = absl::MakeConstSpan(block->weights).subspan(first, rows);
  return *std::max_element(own.begin(), own.end()) * divided_by;
}

void LearningBatch::DivideWeightsBy(double largest) {
  DivideWeights(largest / divided_by, absl::MakeSpan(block->weights).subspan(first, rows));
  divided_by = largest;
}

absl::StatusOr<std::vector<LearningBatch>> MakeBatches(const BatchMaker& maker,
                                                       const BatchShape& shape, size_t batches,
                                                       DrawnRows rows,
                                                       const std::shared_ptr<UnrollBatch>& block) {
  const size_t prioritized = shape.prioritized();
  assert(rows.drawn.size() == batches * prioritized);
  assert(rows.imitated.size() == batches * shape.imitated);
  std::vector<BatchRow> made;
  made.reserve(batches * shape.rows);
  for (size_t b = 0; b < batches; ++b) {
    std::vector<double> probabilities;
    for (size_t i = b * prioritized; i < (b + 1) * prioritized; ++i) {
      probabilities.push_back(rows.drawn[i].probability);
      made.push_back({.drawn = std::move(rows.drawn[i])});
    }
    for (size_t i = b * shape.imitated; i < (b + 1) * shape.imitated; ++i) {
      made.push_back({.drawn = std::move(rows.imitated[i]), .imitate = true});
    }
    const std::vector<float> weights =
        RowWeights(probabilities, shape.imitated, rows.positions, shape.importance_exponent);
    for (size_t i = 0; i < shape.rows; ++i) made[b * shape.rows + i].weight = weights[i];
  }
  MMZ_RETURN_IF_ERROR(maker.Fill(made, *block));
  std::vector<LearningBatch> result;
  for (size_t b = 0; b < batches; ++b) {
    LearningBatch& batch = result.emplace_back(
        LearningBatch{.block = block, .first = b * shape.rows, .rows = shape.rows});
    for (size_t i = 0; i < prioritized; ++i) {
      batch.prioritized.push_back(std::move(made[batch.first + i].drawn));
    }
  }
  return result;
}

absl::StatusOr<UpdateResult> UpdateFrom(LearningBatch& batch, double largest_weight,
                                        Learner& learner, DataParallel* processes) {
  batch.DivideWeightsBy(largest_weight);
  return learner.Update(*batch.block, batch.first, batch.rows, processes);
}

}  // namespace mallocmuzero
