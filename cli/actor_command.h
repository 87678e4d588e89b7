// `mallocmuzero actor`: an actor process of a cluster, or a load generator that stands for many.

#ifndef MALLOCMUZERO_CLI_ACTOR_COMMAND_H_
#define MALLOCMUZERO_CLI_ACTOR_COMMAND_H_

#include "cli/command.h"

namespace mallocmuzero::cli {

void AddActorCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_ACTOR_COMMAND_H_
