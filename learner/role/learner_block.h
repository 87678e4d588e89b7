// What keeps a learner from its next update, or from saving.

#ifndef MALLOCMUZERO_LEARNER_ROLE_LEARNER_BLOCK_H_
#define MALLOCMUZERO_LEARNER_ROLE_LEARNER_BLOCK_H_

#include <cstdint>
#include <string>

namespace mallocmuzero {

struct LearnerBlock {
  enum class On : uint8_t {
    kNothing,
    kDisk,       // checkpoints cannot be saved; it trains on
    kProcesses,  // the other processes of the learner
    kReplay,     // shards give no positions
    kGames,      // those they give are not of this run
    kBatches,    // in the making
  };
  On on = On::kNothing;
  std::string why;  // in a few words
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_LEARNER_ROLE_LEARNER_BLOCK_H_
