// `mallocmuzero corpus`: one table row for each program of a folder.

#ifndef MALLOCMUZERO_CLI_CORPUS_COMMAND_H_
#define MALLOCMUZERO_CLI_CORPUS_COMMAND_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddCorpusCommand(CLI::App& app, Action& action);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_CORPUS_COMMAND_H_
