// `mallocmuzero overrides`: a mapping as options for the real compiler.

#ifndef MALLOCMUZERO_CLI_OVERRIDES_COMMAND_H_
#define MALLOCMUZERO_CLI_OVERRIDES_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddOverridesCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_OVERRIDES_COMMAND_H_
