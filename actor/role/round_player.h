// One thread of an actor: plays rounds of games, or searches stored games again.

#ifndef MALLOCMUZERO_ACTOR_ROLE_ROUND_PLAYER_H_
#define MALLOCMUZERO_ACTOR_ROLE_ROUND_PLAYER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "actor/role/actor_state.h"
#include "actor/role/play_block.h"
#include "actor/self_play.h"
#include "base/random.h"
#include "model/network.h"
#include "replay/client/replay_sampler.h"
#include "replay/client/replay_writer.h"

namespace mallocmuzero {

// Games that one thread plays together.
struct Round {
  std::vector<GameTask> tasks;

  // The first of them, which show what the policy plays: nothing explored, every decision searched.
  size_t evaluations = 0;
};

struct RoundPlayerOptions {
  uint32_t thread = 0;
  uint32_t games = 1;        // of a round, all in flight at once
  uint64_t run = 0;          // different in every process that ever plays
  uint64_t spool_bytes = 0;  // no round begins while so much waits for the shards

  // Nor while more games than this wait for shards that are there: behind a rate limiter they would
  // only grow old.
  uint64_t most_held_back = 0;
};

// For one thread. Between two rounds it takes the newest weights, programs and orders.
class RoundPlayer {
 public:
  // All must outlive it. With a sampler it searches games drawn from it again.
  RoundPlayer(const RoundPlayerOptions& options, ActorState& state, ReplayWriter& writer,
              ReplaySampler* sampler);
  ~RoundPlayer();

  // Plays until `stop`, games in flight given up. An error is what keeps it from playing, such as
  // no memory for the latent states or the trees.
  absl::Status Run(const absl::Notification& stop);

 private:
  absl::Status PrepareFor(const RoundInputs& inputs);
  // Shows the games of a program that the learner wants to be shown; false if there is none.
  absl::StatusOr<bool> Demonstrate(const absl::Notification& stop);
  Round NewGames();
  // Games of older weights than these, each once. None: `why_none` says why.
  Round StoredGames(PlayBlock& why_none);
  void PlayRound(const Round& round, const absl::Notification& stop);

  const RoundPlayerOptions options_;
  ActorState& state_;
  ReplayWriter& writer_;
  ReplaySampler* const sampler_;
  Random random_;
  uint64_t games_ = 0;        // that have got an id
  uint64_t evaluations_ = 0;  // of those

  // Of the last round.
  RoundInputs inputs_;
  std::unique_ptr<SelfPlay> play_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_ROUND_PLAYER_H_
