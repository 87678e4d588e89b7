// Protobuf's text format with places: which line gave which field, and every line that is wrong.

#ifndef MALLOCMUZERO_CLUSTER_CONFIG_TEXT_H_
#define MALLOCMUZERO_CLUSTER_CONFIG_TEXT_H_

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "cluster/config_mistakes.h"
#include "learner/check_field.h"

namespace mallocmuzero {

// Where the fields of a parsed message stood.
struct ConfigPlaces {
  std::unique_ptr<google::protobuf::TextFormat::ParseInfoTree> tree;

  // Names of fields with a value that could not be read: they are not missing.
  std::vector<std::string> unreadable;

  // False after a mistake of structure: what lies behind it was not read.
  bool complete = true;
};

// Parses `text` into `message`. A line that is wrong by itself, such as an unknown field or a value
// of another type, is noted and left out, so that the lines behind it are looked at too; after a
// mistake of structure, such as a brace too few, the rest is not.
ConfigPlaces ParseConfigText(absl::string_view text, google::protobuf::Message& message,
                             ConfigMistakes& mistakes);

// A message of the configuration and where it stands. A view: message and places must outlive it.
class ConfigSection {
 public:
  // The whole file.
  ConfigSection(google::protobuf::Message& message, const ConfigPlaces& places,
                ConfigMistakes& mistakes);

  // Whether the file gives the field.
  bool Given(const std::string& field) const;

  // Whether the file tried to.
  bool GivenOrUnreadable(const std::string& field) const;

  // The message in a field, which is created if it is not there; `index` of a repeated one.
  ConfigSection Nested(const std::string& field, int index = -1) const;

  // Copies the fields of `defaults` that the file does not give, nested ones too. Repeated fields
  // and the fields of repeated messages are left as they are.
  void FillIn(const google::protobuf::Message& defaults) const;

  // Notes a mistake of a field of this section, at its line, or the section's if it is not given.
  void Complain(const std::string& field, const std::string& message, int index = -1) const;

  // Of the section itself.
  void Complain(const std::string& message) const;

  // "replay[0].address".
  std::string PathOf(const std::string& field, int index = -1) const;

  // Counted from 0.
  int LineOf(const std::string& field, int index = -1) const;

  // With the defaults that were filled in.
  const google::protobuf::Message& message() const { return *message_; }

 private:
  using Tree = google::protobuf::TextFormat::ParseInfoTree;

  ConfigSection() = default;
  const google::protobuf::FieldDescriptor* Find(const std::string& field) const;

  // The line of a value; -1: there is none.
  int PlaceOf(const std::string& field, int index) const;

  google::protobuf::Message* message_ = nullptr;
  const ConfigPlaces* places_ = nullptr;
  ConfigMistakes* mistakes_ = nullptr;
  const Tree* tree_ = nullptr;  // null: the file does not have the section
  std::string path_;
  int line_ = 0;
};

// Complains of those that the file gives out of bounds, or not a number.
void CheckRanges(const ConfigSection& section, absl::Span<const FieldRange> ranges);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CONFIG_TEXT_H_
