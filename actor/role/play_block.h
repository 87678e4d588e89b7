// What keeps an actor from playing.

#ifndef MALLOCMUZERO_ACTOR_ROLE_PLAY_BLOCK_H_
#define MALLOCMUZERO_ACTOR_ROLE_PLAY_BLOCK_H_

#include <cstdint>
#include <string>

namespace mallocmuzero {

class ReplayWriter;  // replay/client/replay_writer.h

// Of an actor or a thread of it.
struct PlayBlock {
  enum class On : uint8_t { kNothing, kLearner, kReplay, kSpool, kSolvers };
  On on = On::kNothing;
  std::string why;            // more about it, in a few words; may be empty
  bool flow_control = false;  // as in RoleStatus
};

// "learner", "spool: why", "showing solvers' games"; empty: nothing does.
std::string ToString(const PlayBlock& block);

// Of shards that are there and take no more for now.
PlayBlock HeldBackBlock();

// Of demonstrations that are being played: no game of its own comes meanwhile.
PlayBlock ShowingBlock();

// Of a spool that is full.
PlayBlock SpoolBlock(const ReplayWriter& writer);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_PLAY_BLOCK_H_
