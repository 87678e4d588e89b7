// `mallocmuzero status`: how every role of a cluster fares.

#ifndef MALLOCMUZERO_CLI_STATUS_COMMAND_H_
#define MALLOCMUZERO_CLI_STATUS_COMMAND_H_

#include "cli/command.h"

namespace mallocmuzero::cli {

void AddStatusCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_STATUS_COMMAND_H_
