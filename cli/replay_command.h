// `mallocmuzero replay`: one shard of a cluster's replay, and what an operator asks of running
// ones.

#ifndef MALLOCMUZERO_CLI_REPLAY_COMMAND_H_
#define MALLOCMUZERO_CLI_REPLAY_COMMAND_H_

#include "cli/command.h"

namespace mallocmuzero::cli {

void AddReplayCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_REPLAY_COMMAND_H_
