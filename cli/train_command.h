// `mallocmuzero train`: self-play and learning on one program or a folder of them.

#ifndef MALLOCMUZERO_CLI_TRAIN_COMMAND_H_
#define MALLOCMUZERO_CLI_TRAIN_COMMAND_H_

#include "cli/command.h"

namespace mallocmuzero::cli {

void AddTrainCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_TRAIN_COMMAND_H_
