// The agent as a solver for `map`: which checkpoint, and its games as proposals.

#ifndef MALLOCMUZERO_CLI_AGENT_AGENT_PLAYER_H_
#define MALLOCMUZERO_CLI_AGENT_AGENT_PLAYER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/map_command.h"
#include "env/program_set.h"
#include "env/solvers/solver.h"

namespace mallocmuzero::cli {

// The generalist that comes with the software: share/mallocmuzero/generalist.checkpoint in the
// folder above the binary's, or in the one above that, if the binary is in libexec/mallocmuzero.
// Empty if it is in neither.
std::string ShippedCheckpoint();

// The best games of the checkpoint's network with search. Empty if the program leaves nothing to
// decide or no game was finished in time. Errors name the checkpoint.
absl::StatusOr<std::vector<Proposal>> ProposeWithAgent(const PlayedProgram& program,
                                                       const std::string& checkpoint,
                                                       const AgentLimits& limits);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_AGENT_PLAYER_H_
