// Reports as JSON.

#ifndef MALLOCMUZERO_CLI_REPORT_JSON_H_
#define MALLOCMUZERO_CLI_REPORT_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace mallocmuzero::cli {

// One line of JSON without a newline: fields named as in the .proto file, fields without presence
// printed even when zero, finite doubles as numbers. Internal error if the message cannot be
// printed.
absl::StatusOr<std::string> ReportToJson(const google::protobuf::Message& report);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_REPORT_JSON_H_
