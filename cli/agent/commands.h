// The subcommands of the executable mallocmuzero-agent. Each function adds one to `app`; see
// AddCommand in cli/command.h.

#ifndef MALLOCMUZERO_CLI_AGENT_COMMANDS_H_
#define MALLOCMUZERO_CLI_AGENT_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "cli/command.h"

namespace mallocmuzero::cli {

// Adds all of them: those that cli/command_table.h has no function for, and `map` with networks.
void AddAgentCommands(CLI::App& app, CommandBody& body);

void AddActorCommand(CLI::App& app, CommandBody& body);
void AddCheckpointsCommand(CLI::App& app, CommandBody& body);
void AddDashboardCommand(CLI::App& app, CommandBody& body);
void AddExportCommand(CLI::App& app, CommandBody& body);
void AddFetchCommand(CLI::App& app, CommandBody& body);
void AddLearnerCommand(CLI::App& app, CommandBody& body);
void AddReplayCommand(CLI::App& app, CommandBody& body);
void AddReportCommand(CLI::App& app, CommandBody& body);
void AddServeCommand(CLI::App& app, CommandBody& body);
void AddShardsCommand(CLI::App& app, CommandBody& body);
void AddStatusCommand(CLI::App& app, CommandBody& body);
void AddTrainCommand(CLI::App& app, CommandBody& body);
void AddUpCommand(CLI::App& app, CommandBody& body);

// Subcommands of `bench`.
void AddBenchActorsCommand(CLI::App& parent, CommandBody& body);
void AddBenchLearnerCommand(CLI::App& parent, CommandBody& body);
void AddBenchPlayCommand(CLI::App& parent, CommandBody& body);
void AddBenchReplayCommand(CLI::App& parent, CommandBody& body);
void AddBenchSearchCommand(CLI::App& parent, CommandBody& body);
void AddBenchSelfPlayCommand(CLI::App& parent, CommandBody& body);
void AddBenchServeCommand(CLI::App& parent, CommandBody& body);
void AddBenchValuesCommand(CLI::App& parent, CommandBody& body);

// Subcommands of `launch`.
void AddLaunchSlurmCommand(CLI::App& parent, CommandBody& body);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_COMMANDS_H_
