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

  // A round of games is begun only if it should be over by then. There is always one round.
  absl::Time deadline = absl::InfiniteFuture();
  uint64_t max_games = UINT64_MAX;
  std::function<bool()> stop;  // asked between decisions: true to end

  uint64_t seed = 0;

  // Games to return at most.
  size_t best = 4;
};

struct AgentGames {
  // Distinct games, the best first. Empty only if `stop` ended the first round.
  std::vector<std::vector<Action>> games;
  uint64_t played = 0;
};

// Plays rounds of games on the calling thread, of as many games as there is time for (RoundPacer):
// the first, and every second one, by the policy alone, the others with search. In each, one game
// without exploration, and some decisions explored in the others. The program must leave something
// to decide. Errors are those of SelfPlay::Create.
absl::StatusOr<AgentGames> PlayAgent(const PlayedProgram& program,
                                     const std::shared_ptr<const NetworkSnapshot>& network,
                                     const AgentOptions& options);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_AGENT_H_
