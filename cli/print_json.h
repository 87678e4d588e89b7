// Reports on standard output, for --json.

#ifndef MALLOCMUZERO_CLI_PRINT_JSON_H_
#define MALLOCMUZERO_CLI_PRINT_JSON_H_

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "google/protobuf/message.h"

namespace mallocmuzero::cli {

// Prints one line of JSON and returns `verdict`. Internal error if the message cannot be printed.
absl::StatusOr<ExitCode> PrintJson(const google::protobuf::Message& report,
                                   ExitCode verdict = ExitCode::kSuccess);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_PRINT_JSON_H_
