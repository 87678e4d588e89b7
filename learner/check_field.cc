#include "learner/check_field.h"

#include <cassert>
#include <string>

#include "absl/strings/str_format.h"

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

}  // namespace mallocmuzero
