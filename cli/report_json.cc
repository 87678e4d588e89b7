#include "cli/report_json.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/json_util.h"

namespace mallocmuzero::cli {

absl::StatusOr<std::string> ReportToJson(const google::protobuf::Message& report) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  // Debian's protobuf has a Status of its own.
  const auto status = google::protobuf::util::MessageToJsonString(report, &json, options);
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat("cannot print ", report.GetDescriptor()->full_name(),
                                            " as JSON: ", status.ToString()));
  }
  return json;
}

}  // namespace mallocmuzero::cli
