#include "base/check_field.h"

#include <cassert>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace mallocmuzero {
namespace {

using google::protobuf::FieldDescriptor;

double NumberOf(const google::protobuf::Message& message, const FieldDescriptor* field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetUInt32(message, field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(reflection.GetUInt64(message, field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.GetFloat(message, field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetDouble(message, field);
    default:
      assert(false && "not a number");
      return 0;
  }
}

}  // namespace

std::string WrongRange(const google::protobuf::Message& message, const FieldRange& range) {
  const double number = NumberOf(message, message.GetDescriptor()->FindFieldByName(range.field));
  if (number >= range.least && number <= range.most) return "";
  return absl::StrFormat("%.12g given, %.12g to %.12g expected", number, range.least, range.most);
}

std::vector<WrongField> OutOfRange(const google::protobuf::Message& message,
                                   absl::Span<const FieldRange> ranges) {
  std::vector<WrongField> fields;
  for (const FieldRange& range : ranges) {
    const std::string wrong = WrongRange(message, range);
    if (!wrong.empty()) fields.push_back({range.field, wrong});
  }
  return fields;
}

absl::Status FirstWrong(absl::Span<const WrongField> wrong, absl::string_view prefix) {
  if (wrong.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(prefix, wrong.front().field, ": ", wrong.front().message));
}

}  // namespace mallocmuzero
