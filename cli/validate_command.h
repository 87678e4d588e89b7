// `mallocmuzero validate`: does a mapping keep every rule of its program?

#ifndef MALLOCMUZERO_CLI_VALIDATE_COMMAND_H_
#define MALLOCMUZERO_CLI_VALIDATE_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddValidateCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_VALIDATE_COMMAND_H_
