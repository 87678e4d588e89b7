// Flags that set a field of a message by its name.

#ifndef MALLOCMUZERO_CLI_AGENT_SET_FLAG_H_
#define MALLOCMUZERO_CLI_AGENT_SET_FLAG_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace mallocmuzero::cli {

// Sets one field. "search.simulations=4" sets a field of the message `search`; see
// cluster/set_field.h for paths and values. InvalidArgument names the flag, and the unknown field
// and a known one, or the value that the field cannot have.
absl::Status SetField(absl::string_view assignment, google::protobuf::Message& message);

}  // namespace mallocmuzero::cli

#endif  // MALLOCMUZERO_CLI_AGENT_SET_FLAG_H_
