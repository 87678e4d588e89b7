// The learning half of an iteration: draws, batches, updates, priorities.

#ifndef MALLOCMUZERO_TRAIN_UPDATE_PHASE_H_
#define MALLOCMUZERO_TRAIN_UPDATE_PHASE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>

#include "absl/status/statusor.h"
#include "learner/batch_maker.h"
#include "learner/learner.h"
#include "mallocmuzero/v1/train.pb.h"
#include "mallocmuzero/v1/train_metrics.pb.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {

// Rows of `updates` batches, one behind the other: of each, first those drawn by priority, whose
// importance weights are divided by the largest of their batch, then the imitated ones. `replay` is
// not empty.
std::vector<BatchRow> DrawRows(const TrajectoryBuffer& replay, const v1::TrainConfig& config,
                               size_t updates, std::mt19937_64& random);

// Thread-compatible; the arguments must outlive it.
class UpdatePhase {
 public:
  UpdatePhase(const v1::TrainConfig& config, const BatchMaker& batches, TrajectoryBuffer& replay,
              Learner& learner)
      : config_(config), batches_(batches), replay_(replay), learner_(learner) {}

  // Makes `updates` updates, one or more, from a buffer that is not empty, and returns their mean
  // losses; none if `stop`, asked before each update, became true before the last.
  absl::StatusOr<std::optional<v1::TrainMetrics::Losses>> Run(size_t updates,
                                                              std::mt19937_64& random,
                                                              const std::function<bool()>& stop);

 private:
  const v1::TrainConfig& config_;
  const BatchMaker& batches_;
  TrajectoryBuffer& replay_;
  Learner& learner_;
  UnrollBatch block_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TRAIN_UPDATE_PHASE_H_
