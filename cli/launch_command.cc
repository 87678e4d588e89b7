#include "cli/command_table.h"
#include "cli/commands.h"

namespace mallocmuzero::cli {

void AddLaunchCommand(CLI::App& app, CommandBody& body) {
  CLI::App* command = AddSubcommand(app, "launch");
  command->require_subcommand(1);
  AddTableCommands(*command, body);
}

}  // namespace mallocmuzero::cli
