// `mallocmuzero report`: learning curves of a training run.

#ifndef MALLOCMUZERO_CLI_REPORT_COMMAND_H_
#define MALLOCMUZERO_CLI_REPORT_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddReportCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_REPORT_COMMAND_H_
