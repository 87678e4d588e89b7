// The reason why a learner makes no updates or cannot save.

#ifndef MALLOCMUZERO_LEARNER_ROLE_LEARNER_BLOCK_H_
#define MALLOCMUZERO_LEARNER_ROLE_LEARNER_BLOCK_H_

#include <cstdint>
#include <string>

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
  std::string why;  // in a few words
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_LEARNER_BLOCK_H_
