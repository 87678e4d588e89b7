// `mallocmuzero place`: a mapping written into the compiled module itself.

#ifndef MALLOCMUZERO_CLI_PLACE_COMMAND_H_
#define MALLOCMUZERO_CLI_PLACE_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddPlaceCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_PLACE_COMMAND_H_
