// `mallocmuzero simulate`: the price of a compiled module, or of a program under a mapping.

#ifndef MALLOCMUZERO_CLI_SIMULATE_COMMAND_H_
#define MALLOCMUZERO_CLI_SIMULATE_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddSimulateCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_SIMULATE_COMMAND_H_
