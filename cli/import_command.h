// `mallocmuzero import`: HLO text of one program under several placements -> one .program file.

#ifndef MALLOCMUZERO_CLI_IMPORT_COMMAND_H_
#define MALLOCMUZERO_CLI_IMPORT_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddImportCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_IMPORT_COMMAND_H_
