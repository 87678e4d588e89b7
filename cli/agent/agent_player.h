// The agent for `map`: which checkpoint, and the solver that plays its network.

#ifndef MALLOCMUZERO_CLI_AGENT_AGENT_PLAYER_H_
#define MALLOCMUZERO_CLI_AGENT_AGENT_PLAYER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "env/program_set.h"
#include "env/solvers/solver.h"

namespace mallocmuzero::cli {

// The generalist that comes with the software: share/mallocmuzero/generalist.checkpoint in the
// folder above the binary's, or in the one above that, if the binary is in libexec/mallocmuzero.
// Empty if it is in neither.
std::string ShippedCheckpoint();

// The agent that plays the checkpoint's network with search. `program` must outlive the agent.
// Errors name the checkpoint.
absl::StatusOr<std::unique_ptr<Solver>> LoadAgent(const PlayedProgram& program,
                                                  const std::string& checkpoint);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_AGENT_PLAYER_H_
