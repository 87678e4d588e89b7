// The subcommands of mallocmuzero: their names and summaries, and which executable runs each.

#ifndef MALLOCMUZERO_CLI_COMMAND_TABLE_H_
#define MALLOCMUZERO_CLI_COMMAND_TABLE_H_

#include "CLI/CLI.hpp"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cli/command.h"

namespace mallocmuzero::cli {

struct CommandInfo {
  const char* name;  // "bench game" for the subcommand `game` of `bench`
  const char* summary;

  // Null if the command is in the second executable, mallocmuzero-agent, which links LibTorch and
  // gRPC. The functions of that executable are in cli/agent/commands.h.
  AddCommand add;
};

// All subcommands that --help lists, in its order.
absl::Span<const CommandInfo> CommandTable();

// Adds the subcommand `name` with the summary that the table has for it. Below `bench`, `name` is
// that of bench's own subcommand. The name must be in the table.
CLI::App* AddSubcommand(CLI::App& parent, absl::string_view name);

// Adds the commands that are directly below `parent`, `bench` or the whole program. A command of
// the second executable takes any arguments; when chosen, it sets `body` to need that executable.
void AddTableCommands(CLI::App& parent, CommandBody& body);

// Adds all commands of the table, and those that --help does not list.
void AddAllCommands(CLI::App& app, CommandBody& body);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_COMMAND_TABLE_H_
