// The executable mallocmuzero: every command that needs neither LibTorch nor gRPC. It starts the
// other commands in mallocmuzero-agent.

#include <csignal>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/standard_files.h"
#include "cli/agent_executable.h"
#include "cli/command.h"
#include "cli/command_table.h"

namespace {

absl::Status HandOverToAgent(const char* const* argv) {
  const absl::StatusOr<std::string> path = mallocmuzero::cli::FindAgentExecutable();
  if (!path.ok()) return path.status();
  return mallocmuzero::cli::ExecAgent(*path, argv);
}

}  // namespace

int main(int argc, char** argv) {
  mallocmuzero::ReserveStandardFiles();
  // A reader of stderr that goes away must not end a search of hours before its result is written,
  // and one of stdout is an error that RunCommandLine reports.
  std::signal(SIGPIPE, SIG_IGN);
  return mallocmuzero::cli::RunCommandLine(
      {.add_commands = mallocmuzero::cli::AddAllCommands, .hand_over = HandOverToAgent}, argc,
      argv);
}
