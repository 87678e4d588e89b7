// The checkpoint that a training run goes on from, and the one before it.

#ifndef MALLOCMUZERO_LEARNER_RUN_CHECKPOINT_H_
#define MALLOCMUZERO_LEARNER_RUN_CHECKPOINT_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "learner/run_directory.h"
#include "model/checkpoint.h"

namespace mallocmuzero {

// The latest checkpoint; none if the run has not begun. FailedPrecondition if a run that has begun
// lacks it: beginning anew would overwrite what the run has found. Otherwise as LoadCheckpoint. An
// error names the file, and the one before it where that can take its place. Changes nothing.
absl::StatusOr<std::optional<Checkpoint>> LoadLatest(const RunDirectory& directory);

// Makes it the latest, and what was the latest the previous one. Whenever the machine stops, there
// is a whole latest one if there was one before. On an error both are as they were, or the previous
// one is the latest too.
absl::Status SaveLatest(const RunDirectory& directory, const Checkpoint& checkpoint);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_RUN_CHECKPOINT_H_
