// `mallocmuzero map`, with and without networks.

#ifndef MALLOCMUZERO_CLI_MAP_COMMAND_H_
#define MALLOCMUZERO_CLI_MAP_COMMAND_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/command.h"
#include "env/program_set.h"
#include "env/solvers/solver.h"

namespace mallocmuzero::cli {

struct AgentLimits {
  absl::Time deadline;         // by which a round of games should be over
  absl::Time end;              // games that have not ended then are given up
  std::function<bool()> stop;  // the same, when true
  uint64_t seed = 0;
};

// How `map` plays networks. The functions are in cli/agent/agent_player.h: they need LibTorch.
struct AgentPlayer {
  // The path of the network that comes with the software; empty if it is not there.
  std::string (*shipped_checkpoint)();

  // The best games of the checkpoint's network.
  absl::StatusOr<std::vector<Proposal>> (*propose)(const PlayedProgram& program,
                                                   const std::string& checkpoint,
                                                   const AgentLimits& limits);
};

// As AddMapCommand in cli/commands.h, for the executable that can play networks.
void AddMapCommandWithAgent(CLI::App& app, CommandBody& body, const AgentPlayer& agent);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_MAP_COMMAND_H_
