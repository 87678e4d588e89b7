// `mallocmuzero explain`: what makes a mapping faster or slower than another.

#ifndef MALLOCMUZERO_CLI_EXPLAIN_COMMAND_H_
#define MALLOCMUZERO_CLI_EXPLAIN_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddExplainCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_EXPLAIN_COMMAND_H_
