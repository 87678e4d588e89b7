#include "base/message_json.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/message_file.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/type_resolver_util.h"

namespace mallocmuzero {
namespace {

constexpr char kUrlPrefix[] = "type.googleapis.com";

google::protobuf::util::TypeResolver& GeneratedTypes() {
  static auto& types = *google::protobuf::util::NewTypeResolverForDescriptorPool(
      kUrlPrefix, google::protobuf::DescriptorPool::generated_pool());
  return types;
}

}  // namespace

absl::StatusOr<std::string> MessageToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  std::string json;
  // MessageToJsonString would print a map in the order of its hash table, which is another one in
  // each process. Not an absl::Status: Debian's protobuf has its own Status.
  const auto status = google::protobuf::util::BinaryToJsonString(
      &GeneratedTypes(), absl::StrCat(kUrlPrefix, "/", message.GetDescriptor()->full_name()),
      SerializeDeterministically(message), &json, options);
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat("cannot print ", message.GetDescriptor()->full_name(),
                                            " as JSON: ", status.ToString()));
  }
  return json;
}

absl::Status MessageFromJson(absl::string_view json, google::protobuf::Message& message) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto status = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(json.data(), json.size()), &message, options);
  if (status.ok()) return absl::OkStatus();
  // The further lines show the place in the text.
  const std::string error = status.ToString();
  return absl::InvalidArgumentError(
      absl::StrCat(message.GetDescriptor()->full_name(),
                   " as JSON expected: ", error.substr(0, error.find('\n'))));
}

}  // namespace mallocmuzero
