// Sets one field of a message by its path and the text of its value.

#ifndef MALLOCMUZERO_CLUSTER_SET_FIELD_H_
#define MALLOCMUZERO_CLUSTER_SET_FIELD_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {

// Sets the field at `path`, such as "learner.options.batch_size" or "replay.0.address". The number
// behind a repeated field selects an element; the number of elements appends one. Without a number,
// a repeated field of scalars gets `value` as its only element. A string field takes `value` as it
// is; other fields take what protobuf's text format has for them.
//
// Returns the path in the form of error messages, such as "replay[0].address". InvalidArgument
// names the unknown field and those that there are, or the value that the field cannot have. The
// message may have been changed then.
absl::StatusOr<std::string> SetField(absl::string_view path, absl::string_view value,
                                     google::protobuf::Message& message);

// Describes the values that the field may have, such as "one of MEMORY, DURABLE".
std::string ExpectedValue(const google::protobuf::FieldDescriptor& field);

// Says which fields a message of this type has: the one whose name is most similar to `name`
// ("batch_size is one") or, if none is similar, all of them ("here may be name, address").
std::string SuggestField(const google::protobuf::Descriptor& type, absl::string_view name);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_SET_FIELD_H_
