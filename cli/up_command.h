// `mallocmuzero up`: a whole cluster on one machine.

#ifndef MALLOCMUZERO_CLI_UP_COMMAND_H_
#define MALLOCMUZERO_CLI_UP_COMMAND_H_

#include "cli/command.h"

namespace mallocmuzero::cli {

void AddUpCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_UP_COMMAND_H_
