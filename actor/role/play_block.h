// The reason why an actor does not play.

#ifndef MALLOCMUZERO_ACTOR_ROLE_PLAY_BLOCK_H_
#define MALLOCMUZERO_ACTOR_ROLE_PLAY_BLOCK_H_

#include <cstdint>
#include <string>

namespace mallocmuzero {

class ReplayWriter;  // replay/client/replay_writer.h

// The reason why an actor, or one of its threads, waits.
struct PlayBlock {
  enum class On : uint8_t { kNothing, kLearner, kReplay, kSpool, kSolvers };
  On on = On::kNothing;
  std::string why;            // details in a few words; may be empty
  bool flow_control = false;  // waiting is normal (RoleStatus.flow_control) and no fault
};

// The text for people, such as "learner", "spool: why" or "showing solvers' games"; empty for
// kNothing.
std::string ToString(const PlayBlock& block);

// The text for a report to the learner: at most 200 bytes, and valid UTF-8, since the learner
// cannot read a report with other bytes. They come from messages about files, and from the cut.
std::string ForReport(const std::string& text);

// The block while shards that are connected hold inserts back.
PlayBlock HeldBackBlock();

// The block while a thread plays demonstrations, during which it plays no games of its own.
PlayBlock ShowingBlock();

// The block while all games that a reanalyser draws have been searched with the newest weights.
PlayBlock NoOlderGamesBlock();

// The block while the writer's spool is full.
PlayBlock SpoolBlock(const ReplayWriter& writer);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_PLAY_BLOCK_H_
