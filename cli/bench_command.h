// `mallocmuzero bench`: how fast the parts are, and whether they hold what they promise.

#ifndef MALLOCMUZERO_CLI_BENCH_COMMAND_H_
#define MALLOCMUZERO_CLI_BENCH_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddBenchCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_BENCH_COMMAND_H_
