#include "cli/print_report.h"

#include <cstdio>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/message_json.h"
#include "base/utf8.h"

namespace mallocmuzero::cli {

CLI::Option* AddJsonFlag(CLI::App& command, absl::string_view report, bool& json) {
  return command.add_flag("--json", json,
                          absl::StrCat("Prints one JSON object (", report, ") instead of text."));
}

absl::StatusOr<ExitCode> PrintJson(const google::protobuf::Message& report, ExitCode verdict) {
  const absl::StatusOr<std::string> json = MessageToJson(report);
  if (!json.ok()) return json.status();
  std::puts(json->c_str());
  return verdict;
}

absl::StatusOr<ExitCode> PrintText(const std::string& text, ExitCode verdict) {
  // Names come from files and servers.
  std::fputs(WithoutControls(text, "\n\t").c_str(), stdout);
  return verdict;
}

}  // namespace mallocmuzero::cli
