// `mallocmuzero map`: plays the game and writes the best mapping found.

#ifndef MALLOCMUZERO_CLI_MAP_COMMAND_H_
#define MALLOCMUZERO_CLI_MAP_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddMapCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_MAP_COMMAND_H_
