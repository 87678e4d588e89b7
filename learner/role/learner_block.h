// The reason why a learner makes no updates or cannot save.

#ifndef MALLOCMUZERO_LEARNER_ROLE_LEARNER_BLOCK_H_
#define MALLOCMUZERO_LEARNER_ROLE_LEARNER_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "learner/role/training.h"

namespace mallocmuzero {

// `why` is empty for kNothing.
struct LearnerBlock {
  enum class On : uint8_t {
    kNothing,
    kDisk,       // checkpoints cannot be saved; training goes on
    kProcesses,  // waits for the other processes of the learner
    kReplay,     // the shards give no positions
    kGames,      // the shards give positions of games that are not of this run
    kBatches,    // batches are being made
  };
  On on = On::kNothing;
  std::string why;            // in a few words
  bool flow_control = false;  // waiting is normal (RoleStatus.flow_control) and no fault
};

struct LearnerSituation {
  TrainingFigures training;
  absl::Time started;  // by SteadyNow
  uint32_t processes = 1;
  std::string replay;           // why the shards give no positions; empty if they do
  bool shards_reached = false;  // whether each shard was reached at the last attempt
  std::string refusal;          // why the learner refuses drawn games; empty if it does not
  size_t prepared_batches = 0;
};

// Returns what the learner waits for at `now`, whatever it waited for earlier.
LearnerBlock BlockOf(const LearnerSituation& situation, absl::Time now);

// Unavailable, with the reason, while the disk does not answer a save.
absl::Status DiskHealth(const TrainingFigures& training, absl::Time now);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_LEARNER_BLOCK_H_
