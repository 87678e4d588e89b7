// The trained network as a player that proposes games.

#ifndef MALLOCMUZERO_ACTOR_AGENT_H_
#define MALLOCMUZERO_ACTOR_AGENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actor/search/search.h"
#include "env/action.h"
#include "env/program_set.h"
#include "model/network.h"

namespace mallocmuzero {

struct AgentOptions {
  SearchConfig search;

  // A round of games begins only if it should end by then. The first round is always played.
  absl::Time deadline = absl::InfiniteFuture();
  uint64_t max_games = UINT64_MAX;
  std::function<bool()> stop;  // called between decisions; true ends the play

  uint64_t seed = 0;

  // The largest number of games to return.
  size_t best = 4;
};

struct AgentGames {
  // Distinct games, the best first. Empty only if `stop` ended the first round.
  std::vector<std::vector<Action>> games;
  uint64_t played = 0;
};

// Plays rounds of games on the calling thread. RoundPacer chooses how many games a round has. The
// first round, and every second one, is played by the policy alone; the others are played with
// search. One game of each round explores nothing; the others explore some decisions. The program
// must leave something to decide. Errors are those of SelfPlay::Create.
absl::StatusOr<AgentGames> PlayAgent(const PlayedProgram& program,
                                     const std::shared_ptr<const NetworkSnapshot>& network,
                                     const AgentOptions& options);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_AGENT_H_
