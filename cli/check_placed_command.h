// `mallocmuzero check-placed`: does a placed module compute what the original does?

#ifndef MALLOCMUZERO_CLI_CHECK_PLACED_COMMAND_H_
#define MALLOCMUZERO_CLI_CHECK_PLACED_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddCheckPlacedCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_CHECK_PLACED_COMMAND_H_
