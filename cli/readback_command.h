// `mallocmuzero readback`: the placement of a recompiled module in terms of its program.

#ifndef MALLOCMUZERO_CLI_READBACK_COMMAND_H_
#define MALLOCMUZERO_CLI_READBACK_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddReadbackCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_READBACK_COMMAND_H_
