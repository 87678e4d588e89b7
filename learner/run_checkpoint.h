// The latest checkpoint of a training run, and the one before it.

#ifndef MALLOCMUZERO_LEARNER_RUN_CHECKPOINT_H_
#define MALLOCMUZERO_LEARNER_RUN_CHECKPOINT_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"

namespace mallocmuzero {

// Loads the latest checkpoint; none if the run has not begun. FailedPrecondition if a run has begun
// and lacks its checkpoint: beginning again would overwrite the run's results. Other errors are
// those of LoadCheckpoint. An error names the file, and the previous checkpoint if that can replace
// it. No file is changed.
absl::StatusOr<std::optional<Checkpoint>> LoadLatest(const RunDirectory& directory);

// The state of the run that wrote the checkpoint. InvalidArgument if it is a checkpoint of weights
// only, or names a field if the run's time or its draws that are due are not those of a run.
absl::StatusOr<v1::TrainState> ReadState(const Checkpoint& checkpoint);

// Saves a checkpoint as the latest one; the latest one becomes the previous one. If the machine
// stops at any time, the latest checkpoint is still whole if there was one before. After an error
// both are unchanged, or both are the checkpoint that was the latest.
absl::Status SaveLatest(const RunDirectory& directory, const Checkpoint& checkpoint);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_RUN_CHECKPOINT_H_
