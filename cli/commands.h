// The subcommands of the executable mallocmuzero. Each function adds one to `app`; see AddCommand
// in cli/command.h.

#ifndef MALLOCMUZERO_CLI_COMMANDS_H_
#define MALLOCMUZERO_CLI_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

void AddBenchCommand(CLI::App& app, CommandBody& body);
void AddBenchGameCommand(CLI::App& parent, CommandBody& body);
void AddCheckPlacedCommand(CLI::App& app, CommandBody& body);
void AddCompileCommand(CLI::App& app, CommandBody& body);

// `compile-child`, which --help does not show: `compile` starts it as a process of its own and
// loads the compiler there.
void AddCompileChildCommand(CLI::App& app, CommandBody& body);

void AddCorpusCommand(CLI::App& app, CommandBody& body);
void AddExplainCommand(CLI::App& app, CommandBody& body);
void AddImportCommand(CLI::App& app, CommandBody& body);
void AddLaunchCommand(CLI::App& app, CommandBody& body);
void AddMapCommand(CLI::App& app, CommandBody& body);

// `module-text`, which --help does not show: the Python package calls it for modules that jax
// cannot print.
void AddModuleTextCommand(CLI::App& app, CommandBody& body);

void AddOptimizeCommand(CLI::App& app, CommandBody& body);
void AddOverridesCommand(CLI::App& app, CommandBody& body);
void AddPlaceCommand(CLI::App& app, CommandBody& body);
void AddPlayCommand(CLI::App& app, CommandBody& body);
void AddPlotCommand(CLI::App& app, CommandBody& body);
void AddReadbackCommand(CLI::App& app, CommandBody& body);
void AddSimulateCommand(CLI::App& app, CommandBody& body);
void AddValidateCommand(CLI::App& app, CommandBody& body);
void AddVariantCommand(CLI::App& app, CommandBody& body);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_COMMANDS_H_
