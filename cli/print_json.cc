#include "cli/print_json.h"

#include <cstdio>
#include <string>

#include "absl/status/statusor.h"
#include "base/message_json.h"

namespace mallocmuzero::cli {

absl::StatusOr<ExitCode> PrintJson(const google::protobuf::Message& report, ExitCode verdict) {
  const absl::StatusOr<std::string> json = MessageToJson(report);
  if (!json.ok()) return json.status();
  std::puts(json->c_str());
  return verdict;
}

}  // namespace mallocmuzero::cli
