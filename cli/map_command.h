// `mallocmuzero map`, with and without networks.

#ifndef MALLOCMUZERO_CLI_MAP_COMMAND_H_
#define MALLOCMUZERO_CLI_MAP_COMMAND_H_

#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "cli/command.h"
#include "env/program_set.h"
#include "env/solvers/solver.h"

namespace mallocmuzero::cli {

// How `map` plays networks. The functions are in cli/agent/agent_player.h: they need LibTorch.
struct AgentPlayer {
  // The path of the network that comes with the software; empty if it is not there.
  std::string (*shipped_checkpoint)();

  // The agent that plays the checkpoint's network. `program` must outlive it.
  absl::StatusOr<std::unique_ptr<Solver>> (*load)(const PlayedProgram& program,
                                                  const std::string& checkpoint);
};

// As AddMapCommand in cli/commands.h, for the executable that can play networks.
void AddMapCommandWithAgent(CLI::App& app, CommandBody& body, const AgentPlayer& agent);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_MAP_COMMAND_H_
