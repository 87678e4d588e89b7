// Protobuf messages as JSON.

#ifndef MALLOCMUZERO_BASE_MESSAGE_JSON_H_
#define MALLOCMUZERO_BASE_MESSAGE_JSON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace mallocmuzero {

// One line of JSON without a newline: fields named as in the .proto file, fields without presence
// printed even when zero, finite doubles as numbers. Internal error if the message cannot be
// printed.
absl::StatusOr<std::string> MessageToJson(const google::protobuf::Message& message);

// Reads what MessageToJson wrote into `message`; unknown fields are ignored. InvalidArgument if it
// is something else.
absl::Status MessageFromJson(absl::string_view json, google::protobuf::Message& message);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_MESSAGE_JSON_H_
