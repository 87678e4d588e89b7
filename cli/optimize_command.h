// `mallocmuzero optimize`: a faster executable of a program, placed by search.

#ifndef MALLOCMUZERO_CLI_OPTIMIZE_COMMAND_H_
#define MALLOCMUZERO_CLI_OPTIMIZE_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddOptimizeCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_OPTIMIZE_COMMAND_H_
