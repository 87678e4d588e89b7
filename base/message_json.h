// Protobuf messages as JSON.

#ifndef MALLOCMUZERO_BASE_MESSAGE_JSON_H_
#define MALLOCMUZERO_BASE_MESSAGE_JSON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace mallocmuzero {

// The message as one line of JSON without a newline: fields are named as in the .proto file, fields
// without presence are printed even if they are zero, and finite doubles are numbers. Internal if
// the message cannot be printed.
absl::StatusOr<std::string> MessageToJson(const google::protobuf::Message& message);

// Reads JSON that MessageToJson wrote into `message`, and ignores unknown fields. InvalidArgument,
// in one line, if it is no such JSON.
absl::Status MessageFromJson(absl::string_view json, google::protobuf::Message& message);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_BASE_MESSAGE_JSON_H_
