#include "cli/agent/set_flag.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/status_at.h"
#include "cluster/config_overrides.h"
#include "cluster/set_field.h"
#include "google/protobuf/message.h"

namespace mallocmuzero::cli {

absl::Status SetField(absl::string_view assignment, google::protobuf::Message& message) {
  const absl::StatusOr<ConfigOverride> given = OverrideFromFlag(assignment);
  if (!given.ok()) return given.status();
  return StatusAt(given->source,
                  mallocmuzero::SetField(given->path, given->value, message).status());
}

}  // namespace mallocmuzero::cli
