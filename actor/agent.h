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
#include "actor/self_play.h"
#include "env/action.h"
#include "env/program_set.h"
#include "mallocmuzero/v1/network.pb.h"
#include "model/network.h"

namespace mallocmuzero {

// The network that the agent plays: its sizes, and the function that makes models of it.
struct AgentNetwork {
  v1::NetworkConfig config;
  ModelMaker make_model;
};

// Each model evaluates its own batches on the thread that asks for them.
AgentNetwork OwnBatches(std::shared_ptr<const NetworkSnapshot> snapshot);

struct AgentOptions {
  SearchConfig search;

  // A round of games begins only if it should be over by then (SteadyNow). The first round always
  // begins.
  absl::Time deadline = absl::InfiniteFuture();
  uint64_t max_games = UINT64_MAX;
  std::function<bool()> stop;  // called between decisions; true ends the round

  uint64_t seed = 0;
};

struct AgentGames {
  // Up to four distinct games, the best first. Empty only if `stop` ended the first round.
  std::vector<std::vector<Action>> games;
  uint64_t played = 0;
  uint64_t simulations = 0;
};

// Plays rounds of games on the calling thread. Each round has as many games as there is time for
// (RoundPacer). The first round and every second one after it play by the policy alone, the others
// with search. In each round one game does not explore, and the others explore some decisions. The
// program must leave something to decide. Errors are those of SelfPlay::Create and Play.
absl::StatusOr<AgentGames> PlayAgent(const PlayedProgram& program, const AgentNetwork& network,
                                     const AgentOptions& options);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_AGENT_H_
