// `mallocmuzero learner`: a learner process of a cluster.

#ifndef MALLOCMUZERO_CLI_LEARNER_COMMAND_H_
#define MALLOCMUZERO_CLI_LEARNER_COMMAND_H_

#include "cli/command.h"

namespace mallocmuzero::cli {

void AddLearnerCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_LEARNER_COMMAND_H_
