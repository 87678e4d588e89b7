#include "cli/agent/set_flag.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cluster/config_overrides.h"
#include "cluster/set_field.h"
#include "google/protobuf/message.h"

namespace mallocmuzero::cli {

absl::Status SetField(absl::string_view assignment, google::protobuf::Message& message) {
  const absl::StatusOr<ConfigOverride> given = OverrideFromFlag(assignment);
  if (!given.ok()) return given.status();
  absl::Status status = mallocmuzero::SetField(given->path, given->value, message).status();
  if (status.ok()) return status;
  return {status.code(), absl::StrCat(given->source, ": ", status.message())};
}

}  // namespace mallocmuzero::cli
