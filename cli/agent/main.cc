// The executable mallocmuzero-agent: the commands that need LibTorch or gRPC. mallocmuzero starts
// it with its own arguments.

#include <csignal>

#include "cli/agent/commands.h"
#include "cli/command.h"
#include "model/network.h"

int main(int argc, char** argv) {
  // A reader of stderr that goes away must not end a search of hours before its result is written,
  // and one of stdout is an error that RunCommandLine reports.
  std::signal(SIGPIPE, SIG_IGN);
  mallocmuzero::KeepFreedMemory();
  return mallocmuzero::cli::RunCommandLine({.add_commands = mallocmuzero::cli::AddAgentCommands},
                                           argc, argv);
}
