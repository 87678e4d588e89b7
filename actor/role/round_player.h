// The work of one thread of an actor: plays rounds of games, or searches stored games again.

#ifndef MALLOCMUZERO_ACTOR_ROLE_ROUND_PLAYER_H_
#define MALLOCMUZERO_ACTOR_ROLE_ROUND_PLAYER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
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

// The games that a thread plays together.
struct Round {
  std::vector<GameTask> tasks;

  // The number of evaluation games, which come first in `tasks`. They measure the policy: they do
  // not explore and search every decision.
  size_t evaluations = 0;

  // The names of the shards of stored games, by the games' ids.
  absl::flat_hash_map<std::string, std::string> shards;
};

// The settings of one thread.
struct RoundPlayerOptions {
  uint32_t thread = 0;
  uint32_t games = 1;        // of a round, all played at once
  uint64_t run = 0;          // differs in every process that ever plays
  uint64_t spool_bytes = 0;  // no round begins while this many bytes wait for the shards

  // No round begins either while more games than this wait for connected shards: behind a rate
  // limiter they would only become outdated.
  uint64_t most_held_back = 0;
};

// Takes the newest weights, programs and orders between two rounds. Not thread-safe: each thread
// has its own.
class RoundPlayer {
 public:
  // `state`, `writer` and `sampler` are not owned and must outlive the player. If `sampler` is not
  // null, the player searches games drawn from it again instead of playing new ones.
  RoundPlayer(const RoundPlayerOptions& options, ActorState& state, ReplayWriter& writer,
              ReplaySampler* sampler);
  ~RoundPlayer();

  // Plays until `stop` and gives up games in flight then. An error ends it early, such as a lack of
  // memory for the latent states or the search trees.
  absl::Status Run(const absl::Notification& stop);

 private:
  absl::Status PrepareFor(const RoundInputs& inputs);
  // Plays demonstrations of a program for which the learner wants them. Returns false if there is
  // no such program.
  absl::StatusOr<bool> Demonstrate(const absl::Notification& stop);
  TaskMaker MakeTasks();
  Round NewGames();
  // Draws stored games that were searched with older weights than the current ones, each at most
  // once. If there are none, `why_none` says why.
  Round StoredGames(PlayBlock& why_none);
  void PlayRound(const Round& round, const absl::Notification& stop);

  const RoundPlayerOptions options_;
  ActorState& state_;
  ReplayWriter& writer_;
  ReplaySampler* const sampler_;
  Random random_;
  uint64_t games_ = 0;        // games that were given an id
  uint64_t evaluations_ = 0;  // evaluation games among them

  // The inputs of the last round and the player made for them.
  RoundInputs inputs_;
  std::unique_ptr<SelfPlay> play_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_ROUND_PLAYER_H_
