// `mallocmuzero map`, with and without networks.

#ifndef MALLOCMUZERO_CLI_MAP_COMMAND_H_
#define MALLOCMUZERO_CLI_MAP_COMMAND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/command.h"
#include "env/program_set.h"
#include "env/solvers/solve.h"
#include "env/solvers/solver.h"
#include "simulator/core/program.h"

namespace mallocmuzero::cli {

// A search that a server of `serve` makes.
struct ServerSearch {
  std::string address;        // host:port
  std::string security_file;  // a v1.Security in text format; empty: no TLS and no token
  std::string solver;
  absl::Duration budget;
  uint32_t threads = 0;  // 0: as many as the server allows

  // Takes the error of a search that ended early with a mapping; it names the server. May be empty.
  std::function<void(const absl::Status&)> cut_short;
};

// How `map` plays networks and asks servers. The functions are in cli/agent/agent_player.h and
// cli/agent/server_search.h: they need LibTorch and gRPC.
struct AgentPlayer {
  // The path of the network that comes with the software; empty if it is not there.
  std::string (*shipped_checkpoint)();

  // The agent that plays the checkpoint's network. `program` must outlive it.
  absl::StatusOr<std::unique_ptr<Solver>> (*load)(const PlayedProgram& program,
                                                  const std::string& checkpoint);

  // The mapping that a server finds. It uses only the seed, `stop` and `progress` of the options.
  absl::StatusOr<Solution> (*ask_server)(const ServerSearch& search, const Program& program,
                                         const SolveOptions& options);
};

// As AddMapCommand in cli/commands.h, for the executable that can play networks.
void AddMapCommandWithAgent(CLI::App& app, CommandBody& body, const AgentPlayer& agent);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_MAP_COMMAND_H_
