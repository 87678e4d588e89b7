// The agent as a solver for `map`: which checkpoint, and its games as proposals.

#ifndef MALLOCMUZERO_CLI_AGENT_PLAYER_H_
#define MALLOCMUZERO_CLI_AGENT_PLAYER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "env/program_set.h"
#include "env/solvers/solver.h"

namespace mallocmuzero::cli {

// The generalist that comes with the software, share/mallocmuzero/generalist.checkpoint beside the
// binary's folder. Empty if it is not there.
std::string ShippedCheckpoint();

struct AgentLimits {
  absl::Time deadline;         // by which a round of games should be over
  absl::Time end;              // games that have not ended then are given up
  std::function<bool()> stop;  // the same, when true
  uint64_t seed = 0;
};

// The best games of the checkpoint's network with search. Empty if the program leaves nothing to
// decide or no game was finished in time. Errors name the checkpoint.
absl::StatusOr<std::vector<Proposal>> ProposeWithAgent(const PlayedProgram& program,
                                                       const std::string& checkpoint,
                                                       const AgentLimits& limits);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_PLAYER_H_
