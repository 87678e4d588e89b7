// The learning part of an iteration: draws positions, makes batches and updates, sets priorities.

#ifndef MALLOCMUZERO_TRAIN_UPDATE_PHASE_H_
#define MALLOCMUZERO_TRAIN_UPDATE_PHASE_H_

#include <cstddef>
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

// Thread-compatible; the arguments must outlive it.
class UpdatePhase {
 public:
  UpdatePhase(const v1::TrainConfig& config, const BatchMaker& maker, TrajectoryBuffer& replay,
              Learner& learner)
      : config_(config), maker_(maker), replay_(replay), learner_(learner) {}

  // Makes `updates` updates (1 or more) and returns their mean losses. The buffer must not be
  // empty. `stop` is called before each update; if it is true, the result is empty.
  absl::StatusOr<std::optional<v1::TrainMetrics::Losses>> Run(size_t updates,
                                                              std::mt19937_64& random,
                                                              const std::function<bool()>& stop);

 private:
  const v1::TrainConfig& config_;
  const BatchMaker& maker_;
  TrajectoryBuffer& replay_;
  Learner& learner_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_TRAIN_UPDATE_PHASE_H_
