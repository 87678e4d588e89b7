// The executables: that of this process, and the second one, mallocmuzero-agent, which has the
// commands that need LibTorch or gRPC.

#ifndef MALLOCMUZERO_CLI_AGENT_EXECUTABLE_H_
#define MALLOCMUZERO_CLI_AGENT_EXECUTABLE_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mallocmuzero::cli {

// The path of this process's binary. Internal if the system does not know it.
absl::StatusOr<std::filesystem::path> OwnBinary();

// The path of the second executable: beside this process's binary, as in a build folder, or in
// ../libexec/mallocmuzero from there, as installed. NotFound, with both folders, if it is in
// neither.
absl::StatusOr<std::string> FindAgentExecutable();

// Replaces this process by the executable at `path`, with the arguments `argv`, which end with a
// null. Process id, open files and ignored signals stay. Returns only if that fails.
absl::Status ExecAgent(const std::string& path, const char* const* argv);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_EXECUTABLE_H_
