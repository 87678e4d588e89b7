// `mallocmuzero plot`: a picture of mappings.

#ifndef MALLOCMUZERO_CLI_PLOT_COMMAND_H_
#define MALLOCMUZERO_CLI_PLOT_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddPlotCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_PLOT_COMMAND_H_
