// `mallocmuzero compile`: a module through the real TPU compiler.

#ifndef MALLOCMUZERO_CLI_COMPILE_COMMAND_H_
#define MALLOCMUZERO_CLI_COMPILE_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddCompileCommand(CLI::App& app, Action& action);

// `compile-child`, which --help does not show: the process that `compile` has the compiler in.
void AddCompileChildCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_COMPILE_COMMAND_H_
