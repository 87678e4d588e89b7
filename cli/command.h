// Exit codes, errors and parsing that all subcommands share.

#ifndef MALLOCMUZERO_CLI_COMMAND_H_
#define MALLOCMUZERO_CLI_COMMAND_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace mallocmuzero::cli {

// Exit codes of the binary; other programs rely on them.
enum class ExitCode : uint8_t {
  kSuccess = 0,
  kFailure = 1,   // the work could not be done, or its verdict is negative (an invalid mapping)
  kBadInput = 2,  // bad usage, or input that cannot be read
};

// The work of the chosen subcommand, after its flags are parsed.
struct CommandBody {
  // Whether the second executable has to do the work; see cli/agent_executable.h.
  bool needs_agent = false;

  // Prints the command's result to stdout. Empty only if `needs_agent` is set.
  std::function<absl::StatusOr<ExitCode>()> run;
};

// Each subcommand has a function AddXCommand(app, body): it adds itself to `app` and, when chosen
// on the command line, stores what to do in `body`. Both must outlive the parsing.
using AddCommand = void (*)(CLI::App& app, CommandBody& body);

// Marks an error of writing output, which is a failure and not bad input. `status` must not be OK.
absl::Status OutputError(const absl::Status& status);

// InvalidArgument if `output` is the same file as one of `inputs`, possibly under another name: the
// command would overwrite its input. Empty paths name no file.
absl::Status CheckOutputIsNotRead(const std::string& output, absl::Span<const std::string> inputs);

// An error if there can be no file `output`: its folder is missing or read-only, or it is a folder
// itself. Commands ask before their work. An empty path names no file.
absl::Status CheckOutputHasPlace(const std::string& output);

// An error of bad input if the name of `output` ends as that of a picture that is no SVG.
absl::Status CheckIsSvgName(const std::string& output);

// The same path for two ways to write it, whether or not there is such a file.
std::filesystem::path WholePath(const std::string& path);

// kBadInput for errors that name something the caller gave, kFailure for all others.
ExitCode ExitCodeOf(const absl::Status& status);

// The subcommands of an executable, and how it hands commands over to the second executable.
struct CommandLine {
  AddCommand add_commands = nullptr;

  // Null in the second executable. Otherwise this function starts the second executable in place of
  // this process and does not return. It returns NotFound if there is no second executable.
  absl::Status (*hand_over)(const char* const* argv) = nullptr;
};

// Parses the command line and runs the chosen subcommand. Errors are one line each on stderr.
// `argv` ends with a null.
int RunCommandLine(const CommandLine& line, int argc, const char* const* argv);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_COMMAND_H_
