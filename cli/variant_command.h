// `mallocmuzero variant`: a program with another size of fast memory.

#ifndef MALLOCMUZERO_CLI_VARIANT_COMMAND_H_
#define MALLOCMUZERO_CLI_VARIANT_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddVariantCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_VARIANT_COMMAND_H_
