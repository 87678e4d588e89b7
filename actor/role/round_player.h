// The work of one thread of an actor: plays rounds of games, or searches stored games again.

#ifndef MALLOCMUZERO_ACTOR_ROLE_ROUND_PLAYER_H_
#define MALLOCMUZERO_ACTOR_ROLE_ROUND_PLAYER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "actor/role/actor_state.h"
#include "actor/role/assigned_programs.h"
#include "actor/role/candidate_games.h"
#include "actor/role/draw_pause.h"
#include "actor/role/incumbent_games.h"
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

  // SHA-256 of the candidate that all of the games evaluate; empty if they are no evaluation games.
  std::string candidate_sha256;

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
  // The objects that the player uses and does not own. They must outlive the player.
  struct Parts {
    ActorState& state;
    CandidateGames& candidate;
    IncumbentGames& incumbents;
    ReplayWriter& writer;

    // Not null: the player searches games drawn from it again instead of playing new ones.
    ReplaySampler* sampler = nullptr;
  };
  RoundPlayer(const RoundPlayerOptions& options, const Parts& parts);
  ~RoundPlayer();

  // Plays until `stop` and gives up games in flight then. An error ends it early, such as a lack of
  // memory for the latent states or the search trees.
  absl::Status Run(const absl::Notification& stop);

 private:
  // Plays demonstrations of a program for which the learner wants them. Returns false if there is
  // no such program.
  absl::StatusOr<bool> Demonstrate(const AssignedPrograms& assigned,
                                   const absl::Notification& stop);
  // Returns the inputs of the next round. If no round may begin, returns nullopt and sets
  // `why_none`.
  std::optional<RoundInputs> BeginRound(absl::Time now, PlayBlock& why_none);

  // The next round. If it has no games, `why_none` says why.
  absl::StatusOr<Round> NextRound(RoundInputs inputs, PlayBlock& why_none);
  absl::Status PrepareFor(const RoundInputs& inputs);
  TaskMaker MakeTasks();
  Round NewGames();
  Round EvaluationGames(const CandidateRound& round);
  // Draws stored games that were searched with older weights than the current ones, each at most
  // once. If there are none, `why_none` says why, and draw_pause_ begins.
  Round StoredGames(PlayBlock& why_none);
  absl::Status PlayRound(const Round& round, const absl::Notification& stop);

  const RoundPlayerOptions options_;
  ActorState& state_;
  CandidateGames& candidate_;
  IncumbentGames& incumbents_;
  ReplayWriter& writer_;
  ReplaySampler* const sampler_;
  Random random_;
  uint64_t games_ = 0;  // games that were given an id

  // The inputs of the last round and the player made for them.
  RoundInputs inputs_;
  std::unique_ptr<SelfPlay> play_;

  DrawPause draw_pause_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_ROLE_ROUND_PLAYER_H_
