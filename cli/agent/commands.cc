#include "cli/agent/commands.h"

#include "CLI/CLI.hpp"
#include "cli/agent/agent_player.h"
#include "cli/agent/server_search.h"
#include "cli/command.h"
#include "cli/command_table.h"
#include "cli/map_command.h"

namespace mallocmuzero::cli {

void AddAgentCommands(CLI::App& app, CommandBody& body) {
  AddMapCommandWithAgent(
      app, body,
      {.shipped_checkpoint = ShippedCheckpoint, .load = LoadAgent, .ask_server = AskServer});
  for (const AddCommand add :
       {AddActorCommand, AddCheckpointsCommand, AddDashboardCommand, AddExportCommand,
        AddFetchCommand, AddLearnerCommand, AddReplayCommand, AddReportCommand, AddServeCommand,
        AddShardsCommand, AddStatusCommand, AddTrainCommand, AddUpCommand}) {
    add(app, body);
  }
  CLI::App* launch = AddSubcommand(app, "launch");
  launch->require_subcommand(1);
  AddLaunchSlurmCommand(*launch, body);
  CLI::App* bench = AddSubcommand(app, "bench");
  bench->require_subcommand(1);
  for (const AddCommand add : {AddBenchActorsCommand, AddBenchLearnerCommand, AddBenchReplayCommand,
                               AddBenchSearchCommand, AddBenchSelfPlayCommand, AddBenchPlayCommand,
                               AddBenchValuesCommand, AddBenchServeCommand}) {
    add(*bench, body);
  }
}

}  // namespace mallocmuzero::cli
