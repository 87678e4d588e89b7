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
#include "actor/task_maker.h"
#include "base/random.h"
#include "model/network.h"
#include "replay/client/replay_sampler.h"
#include "replay/client/replay_writer.h"

namespace mallocmuzero {

// The games that one thread plays at the same time.
struct Round {
  std::vector<GameTask> tasks;

  // The number of leading tasks that are evaluation games.
  size_t evaluations = 0;
};

struct RoundPlayerOptions {
  uint32_t thread = 0;
  uint32_t games = 1;        // of a round, all in flight at the same time
  uint64_t run = 0;          // a number that no other process has
  uint64_t spool_bytes = 0;  // no round begins while so many bytes wait for the shards

  // No round begins while more games than this wait for connected shards: behind a rate limiter new
  // games would only become old.
  uint64_t most_held_back = 0;
};

// Plays on one thread. Between two rounds it takes the newest weights, programs and orders.
class RoundPlayer {
 public:
  // The arguments must outlive it. With a sampler, it searches games again that it draws from
  // there.
  RoundPlayer(const RoundPlayerOptions& options, ActorState& state, ReplayWriter& writer,
              ReplaySampler* sampler);
  ~RoundPlayer();

  // Plays until `stop`, and gives up the games in flight then. An error says why it cannot play,
  // for example no memory for the latent states or the trees.
  absl::Status Run(const absl::Notification& stop);

 private:
  absl::Status PrepareFor(const RoundInputs& inputs);
  // Plays the demonstrations of one program that the learner has asked for; false if there is none.
  absl::StatusOr<bool> Demonstrate(const absl::Notification& stop);
  TaskMaker MakeTasks();
  Round NewGames();
  // Stored games that older weights have searched, each once. If there are none, `why_none` says
  // why.
  Round StoredGames(PlayBlock& why_none);
  void PlayRound(const Round& round, const absl::Notification& stop);

  const RoundPlayerOptions options_;
  ActorState& state_;
  ReplayWriter& writer_;
  ReplaySampler* const sampler_;
  Random random_;
  uint64_t games_ = 0;        // new games so far
  uint64_t evaluations_ = 0;  // of those, evaluation games

  // The inputs of the last round, and its player.
  RoundInputs inputs_;
  std::unique_ptr<SelfPlay> play_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_ROUND_PLAYER_H_
