#include "cluster/set_field.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace mallocmuzero {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

// Longer names are not compared with those of fields.
constexpr size_t kMostNameBytes = 100;

size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::vector<std::string> FieldNames(const Descriptor& type) {
  std::vector<std::string> names;
  for (int f = 0; f < type.field_count(); ++f) names.push_back(type.field(f)->name());
  return names;
}

bool IsMessage(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
}

// Parses `value` into a singular field, or appends it to a repeated one.
bool ParseValue(absl::string_view value, const FieldDescriptor& field, Message& message) {
  const bool is_text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  const std::string text =
      is_text ? absl::StrCat("\"", absl::CEscape(value), "\"") : std::string(value);
  const google::protobuf::LogSilencer silencer;
  return TextFormat::ParseFieldValueFromString(text, &field, &message);
}

// Goes along a path and keeps the message and the part of the path that it has reached.
class Walk {
 public:
  explicit Walk(Message& message) : message_(&message) {}

  // Takes the names and numbers of `path` in turn.
  absl::Status Go(const std::vector<std::string>& path, absl::string_view value);

  const std::string& passed() const { return passed_; }

 private:
  absl::StatusOr<int> ReadIndex(const FieldDescriptor& field, const std::string& text);
  void Enter(const FieldDescriptor& field, int index);
  absl::Status SetElement(const FieldDescriptor& field, int index, absl::string_view value);

  Message* message_;
  std::string passed_;
};

absl::StatusOr<int> Walk::ReadIndex(const FieldDescriptor& field, const std::string& text) {
  const int size = message_->GetReflection()->FieldSize(*message_, &field);
  int index = 0;
  if (absl::SimpleAtoi(text, &index) && index >= 0 && index <= size) return index;
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' behind '", field.name(),
                                                 "': a number from 0 to ", size, " expected; ",
                                                 size, " appends an element"));
}

// Continues in the message of a field, or in element `index` of a repeated one, which is appended
// if it does not exist.
void Walk::Enter(const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message_->GetReflection();
  if (!field.is_repeated()) {
    message_ = reflection.MutableMessage(message_, &field);
  } else if (index < reflection.FieldSize(*message_, &field)) {
    message_ = reflection.MutableRepeatedMessage(message_, &field, index);
  } else {
    message_ = reflection.AddMessage(message_, &field);
  }
}

// An index below 0 makes `value` the only element.
absl::Status Walk::SetElement(const FieldDescriptor& field, int index, absl::string_view value) {
  const Reflection& reflection = *message_->GetReflection();
  if (!ParseValue(value, field, *message_)) {
    return absl::InvalidArgumentError(absl::StrCat(ExpectedValue(field), " expected"));
  }
  // The parser has appended the value. It takes the place of the element that it replaces.
  int last = reflection.FieldSize(*message_, &field) - 1;
  const int place = std::max(index, 0);
  if (place < last) reflection.SwapElements(message_, &field, place, last);
  const int keep = index < 0 ? 1 : std::max(last, place + 1);
  for (; last >= keep; --last) reflection.RemoveLast(message_, &field);
  return absl::OkStatus();
}

absl::Status Walk::Go(const std::vector<std::string>& path, absl::string_view value) {
  for (size_t k = 0; k < path.size(); ++k) {
    const Descriptor& type = *message_->GetDescriptor();
    const FieldDescriptor* field = type.FindFieldByName(path[k]);
    if (field == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("no field '", path[k], "'; ", SuggestField(type, path[k])));
    }
    absl::StrAppend(&passed_, passed_.empty() ? "" : ".", path[k]);
    int index = -1;
    if (field->is_repeated() && k + 1 < path.size()) {
      const absl::StatusOr<int> read = ReadIndex(*field, path[++k]);
      if (!read.ok()) return read.status();
      index = *read;
      absl::StrAppend(&passed_, "[", index, "]");
    } else if (field->is_repeated() && IsMessage(*field)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a number behind '", path[k], "' expected, such as ", path[k], ".0"));
    }
    const bool is_last = k + 1 == path.size();
    if (!is_last && !IsMessage(*field)) {
      return absl::InvalidArgumentError(absl::StrCat("'", field->name(), "' has no fields"));
    }
    if (!is_last) {
      Enter(*field, index);
    } else if (field->is_repeated() && !IsMessage(*field)) {
      return SetElement(*field, index, value);
    } else if (IsMessage(*field) || !ParseValue(value, *field, *message_)) {
      return absl::InvalidArgumentError(absl::StrCat(ExpectedValue(*field), " expected"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string ExpectedValue(const FieldDescriptor& field) {
  if (IsMessage(field)) {
    return absl::StrCat("one of its fields (",
                        absl::StrJoin(FieldNames(*field.message_type()), ", "), ")");
  }
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM) return field.type_name();
  std::vector<std::string> names;
  for (int v = 0; v < field.enum_type()->value_count(); ++v) {
    const std::string& name = field.enum_type()->value(v)->name();
    // This name stands for a missing value.
    if (!absl::EndsWith(name, "_UNSPECIFIED")) names.push_back(name);
  }
  return absl::StrCat("one of ", absl::StrJoin(names, ", "));
}

std::string SuggestField(const Descriptor& type, absl::string_view name) {
  std::string nearest;
  size_t least = 3;  // a name at this distance or more is another word
  const std::vector<std::string> names = FieldNames(type);
  for (const std::string& other : names) {
    if (name.size() > kMostNameBytes) break;
    const size_t distance = EditDistance(name, other);
    if (distance < least) {
      least = distance;
      nearest = other;
    }
  }
  return nearest.empty() ? absl::StrCat("here may be ", absl::StrJoin(names, ", "))
                         : absl::StrCat(nearest, " is one");
}

absl::StatusOr<std::string> SetField(absl::string_view path, absl::string_view value,
                                     Message& message) {
  Walk walk(message);
  absl::Status status = walk.Go(absl::StrSplit(path, '.'), value);
  if (!status.ok()) return status;
  return walk.passed();
}

}  // namespace mallocmuzero
