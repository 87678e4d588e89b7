// Makes updates of the networks from a channel of batches.

#ifndef MALLOCMUZERO_LEARNER_UPDATER_H_
#define MALLOCMUZERO_LEARNER_UPDATER_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "learner/learner.h"
#include "learner/learning_batch.h"
#include "replay/drawn_position.h"

namespace mallocmuzero {

// Where batches come from and where new priorities go. `train` has a buffer in its own process, a
// cluster's learner has replay shards.
class BatchChannel {
 public:
  virtual ~BatchChannel() = default;

  // Takes the next batch. Blocks up to `timeout` for a batch that other threads make, and returns
  // nullopt if there is none by then. After an error the channel must not be used any more.
  virtual absl::StatusOr<std::optional<LearningBatch>> Next(absl::Duration timeout) = 0;

  // Sets the priority of each of `drawn`: the error |value - outcome|, in units of NetworkValue.
  virtual void SetPriorities(absl::Span<const DrawnPosition> drawn,
                             absl::Span<const double> errors) = 0;
};

// One update is Fetch, Agree and Update. Two loops call them, because their conditions differ.
// UpdatePhase (train/update_phase.h) makes a number of updates that is known before, and never
// waits, so that a run depends on its config only. Training (learner/role/training.h) goes on until
// it is stopped. Its batches come from other threads, its group of processes can break at any call
// and is made anew, and it saves and publishes between two updates. Thread-compatible.
class Updater {
 public:
  // Both must outlive it.
  Updater(Learner& learner, BatchChannel& channel) : learner_(learner), channel_(channel) {}

  // Takes a batch from the channel unless there is one already, and returns whether there is one.
  // Blocks up to `timeout`. Errors are those of the channel.
  absl::StatusOr<bool> Fetch(absl::Duration timeout);

  // Returns whether every process of `group` has a batch, and finds the largest weight in all their
  // batches. Call it on all processes. Without a group (null) only the batch of this process
  // counts. Errors are those of the group.
  absl::StatusOr<bool> Agree(DataParallel* group);

  // Takes part in one Agree of the other processes, as a process without a batch. Errors are those
  // of the group.
  static absl::Status Decline(DataParallel& group);

  // An update and the batch that it was made from.
  struct Done {
    LearningBatch batch;
    UpdateResult result;
  };

  // Makes one update from the batch and sends the priorities. Call it only after an Agree with the
  // same group that has returned true. Errors are those of Learner::Update; the batch then stays
  // for the next attempt.
  absl::StatusOr<Done> Update(DataParallel* group);

  // Forgets the batch, because its baselines no longer hold.
  void Drop() { batch_.reset(); }

 private:
  Learner& learner_;
  BatchChannel& channel_;
  std::optional<LearningBatch> batch_;
  double largest_weight_ = 1;  // in the present batches of all processes
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_UPDATER_H_
