// Reasons why an actor does not play.

#ifndef MALLOCMUZERO_ACTOR_ROLE_PLAY_BLOCK_H_
#define MALLOCMUZERO_ACTOR_ROLE_PLAY_BLOCK_H_

#include <cstdint>
#include <string>

namespace mallocmuzero {

class ReplayWriter;  // replay/client/replay_writer.h

// Why an actor, or one of its threads, does not play.
struct PlayBlock {
  enum class On : uint8_t { kNothing, kLearner, kReplay, kSpool, kSolvers };
  On on = On::kNothing;
  std::string why;            // more about it, in a few words; may be empty
  bool flow_control = false;  // as in RoleStatus
};

// "learner", "spool: why", "showing solvers' games"; empty: nothing does.
std::string ToString(const PlayBlock& block);

// The shards answer and accept no more games for the moment.
PlayBlock HeldBackBlock();

// The thread plays demonstrations, and no self-play games meanwhile.
PlayBlock ShowingBlock();

// The spool is full.
PlayBlock SpoolBlock(const ReplayWriter& writer);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_PLAY_BLOCK_H_
