// `mallocmuzero bench replay`.

#ifndef MALLOCMUZERO_CLI_AGENT_BENCH_REPLAY_H_
#define MALLOCMUZERO_CLI_AGENT_BENCH_REPLAY_H_

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "cli/command.h"

namespace mallocmuzero::cli {

// Adds it to `bench`.
void AddBenchReplay(CLI::App& bench, CommandBody& body);

// `data_dir`, or the system's folder for temporary files if that is empty; InvalidArgument if there
// is none.
absl::StatusOr<std::string> FolderForItems(const std::string& data_dir);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_BENCH_REPLAY_H_
