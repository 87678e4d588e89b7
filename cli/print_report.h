// A command's report on standard output: as text, or with --json as one JSON object.

#ifndef MALLOCMUZERO_CLI_PRINT_REPORT_H_
#define MALLOCMUZERO_CLI_PRINT_REPORT_H_

#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/command.h"
#include "google/protobuf/message.h"

namespace mallocmuzero::cli {

// Adds the flag --json, which sets `json`, and returns it. `report` is the name of the message that
// the command then prints, such as "MapReport".
CLI::Option* AddJsonFlag(CLI::App& command, absl::string_view report, bool& json);

// Prints one line of JSON and returns `verdict`. Internal error if the message cannot be printed.
absl::StatusOr<ExitCode> PrintJson(const google::protobuf::Message& report,
                                   ExitCode verdict = ExitCode::kSuccess);

// Prints the text as it is, and returns `verdict`.
absl::StatusOr<ExitCode> PrintText(const std::string& text, ExitCode verdict = ExitCode::kSuccess);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_PRINT_REPORT_H_
