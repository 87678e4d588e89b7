// The executable mallocmuzero-agent: the commands that need LibTorch or gRPC. mallocmuzero starts
// it with its own arguments.

#include <csignal>
#include <cstdlib>

#include "base/standard_files.h"
#include "cli/agent/commands.h"
#include "cli/command.h"
#include "model/network.h"

// By default gRPC continues an attempt to connect only every five seconds unless a call runs in the
// process. A TLS handshake takes several steps, so that the attempts of a process without calls
// would run out of time again and again.
constexpr char kPollInterval[] = "GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS";
constexpr char kPollMilliseconds[] = "200";

int main(int argc, char** argv) {
  mallocmuzero::ReserveStandardFiles();
  // A reader of stderr that goes away must not end a search of hours before its result is written,
  // and one of stdout is an error that RunCommandLine reports.
  std::signal(SIGPIPE, SIG_IGN);
  setenv(kPollInterval, kPollMilliseconds, /*replace=*/0);  // gRPC reads it when it starts
  mallocmuzero::KeepFreedMemory();
  return mallocmuzero::cli::RunCommandLine({.add_commands = mallocmuzero::cli::AddAgentCommands},
                                           argc, argv);
}
