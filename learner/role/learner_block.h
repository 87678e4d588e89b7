// Reasons why a learner makes no update, or cannot save.

#ifndef MALLOCMUZERO_LEARNER_ROLE_LEARNER_BLOCK_H_
#define MALLOCMUZERO_LEARNER_ROLE_LEARNER_BLOCK_H_

#include <cstdint>
#include <string>

namespace mallocmuzero {

struct LearnerBlock {
  enum class On : uint8_t {
    kNothing,
    kDisk,       // checkpoints cannot be saved; training goes on
    kProcesses,  // the other processes of the learner are missing
    kReplay,     // the shards give no positions
    kGames,      // the games of the shards are not of this run
    kBatches,    // batches are being made
  };
  On on = On::kNothing;
  std::string why;  // in a few words
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_LEARNER_BLOCK_H_
