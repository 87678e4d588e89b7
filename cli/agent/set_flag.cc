#include "cli/agent/set_flag.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"

namespace mallocmuzero::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

std::string FieldNames(const Descriptor& message) {
  std::vector<std::string> names;
  for (int f = 0; f < message.field_count(); ++f) names.push_back(message.field(f)->name());
  return absl::StrJoin(names, ", ");
}

// Describes the values that the field may have.
std::string ExpectedValue(const FieldDescriptor& field) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return absl::StrCat("one of its fields (", FieldNames(*field.message_type()), ")");
  }
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM) return field.type_name();
  std::vector<std::string> names;
  for (int v = 0; v < field.enum_type()->value_count(); ++v) {
    names.push_back(field.enum_type()->value(v)->name());
  }
  return absl::StrCat("one of ", absl::StrJoin(names, ", "));
}

}  // namespace

absl::Status SetField(absl::string_view assignment, Message& message) {
  const auto error = [&](const auto&... words) {
    return absl::InvalidArgumentError(absl::StrCat("--set ", assignment, ": ", words...));
  };
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(assignment, absl::MaxSplits('=', 1));
  if (!absl::StrContains(assignment, '=')) return error("FIELD=VALUE expected");
  const std::vector<std::string> path = absl::StrSplit(parts.first, '.');
  Message* owner = &message;
  for (size_t k = 0; k < path.size(); ++k) {
    const FieldDescriptor* field = owner->GetDescriptor()->FindFieldByName(path[k]);
    if (field == nullptr) {
      return error("no field '", path[k], "', there are ", FieldNames(*owner->GetDescriptor()));
    }
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (k + 1 < path.size()) {
      if (!is_message) return error("'", path[k], "' has no fields");
      owner = owner->GetReflection()->MutableMessage(owner, field);
      continue;
    }
    const google::protobuf::LogSilencer silencer;
    if (is_message || !TextFormat::ParseFieldValueFromString(parts.second, field, owner)) {
      return error(ExpectedValue(*field), " expected");
    }
  }
  return absl::OkStatus();
}

}  // namespace mallocmuzero::cli
