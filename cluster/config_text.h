// Parses protobuf's text format with the line of each field, and reports every wrong line.

#ifndef MALLOCMUZERO_CLUSTER_CONFIG_TEXT_H_
#define MALLOCMUZERO_CLUSTER_CONFIG_TEXT_H_

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/check_field.h"
#include "cluster/config_mistakes.h"

namespace mallocmuzero {

// Where the fields of a parsed message are in the text.
struct ConfigPlaces {
  std::unique_ptr<google::protobuf::TextFormat::ParseInfoTree> tree;

  // Names of fields whose value could not be read. They count as given, not as missing.
  std::vector<std::string> unreadable;

  // The flags and variables that have set fields, by the paths of the fields. Such fields count as
  // given.
  std::map<std::string, std::string> overrides;

  // False if a mistake in the structure, such as a missing brace, kept the rest from being read.
  bool complete = true;
};

// Parses `text` into `message` and adds its mistakes to `mistakes`. A line that is wrong by itself,
// such as an unknown field or a value of the wrong type, is left out and parsing continues. A
// mistake in the structure, such as a missing brace, ends the parsing.
ConfigPlaces ParseConfigText(absl::string_view text, google::protobuf::Message& message,
                             ConfigMistakes& mistakes);

// A message of the configuration with its place in the file. A view: the message, the places and
// the mistakes must outlive it.
class ConfigSection {
 public:
  // The whole file.
  ConfigSection(google::protobuf::Message& message, const ConfigPlaces& places,
                ConfigMistakes& mistakes);

  // Whether the file or an override sets the field.
  bool Given(const std::string& field) const;

  // Whether one of them sets the field or tries to with a value that could not be read.
  bool GivenOrUnreadable(const std::string& field) const;

  // The section of a message field, which is created if it is not set. For a repeated field `index`
  // selects the element.
  ConfigSection Nested(const std::string& field, int index = -1) const;

  // Copies the fields of `defaults` that are not given, nested ones too. Leaves repeated
  // fields as they are.
  void FillIn(const google::protobuf::Message& defaults) const;

  // Adds a mistake in a field of this section. The message names the override that set the field or
  // else the field's line or, if the file does not set it, the section's.
  void Complain(const std::string& field, const std::string& message, int index = -1) const;

  // Adds a mistake in the section itself.
  void Complain(const std::string& message) const;

  // The path of a field, such as "replay[0].address".
  std::string PathOf(const std::string& field, int index = -1) const;

  // The line of a field or, if the file does not set it, of the section; counted from 0.
  int LineOf(const std::string& field, int index = -1) const;

  // The place of a field in words: "line 4", or the override that set it.
  std::string WhereIs(const std::string& field) const;

  // The section's message, with the defaults that were filled in.
  const google::protobuf::Message& message() const { return *message_; }

 private:
  using Tree = google::protobuf::TextFormat::ParseInfoTree;

  ConfigSection() = default;
  const google::protobuf::FieldDescriptor* Find(const std::string& field) const;

  // The source of an override of the field at `path` or of one within it; null if there is none.
  const std::string* SourceBelow(const std::string& path) const;

  // The line of a value, or -1 if the file does not set it.
  int PlaceOf(const std::string& field, int index) const;

  google::protobuf::Message* message_ = nullptr;
  const ConfigPlaces* places_ = nullptr;
  ConfigMistakes* mistakes_ = nullptr;
  const Tree* tree_ = nullptr;  // null if the file does not have the section
  std::string path_;
  int line_ = 0;
};

// Adds a mistake for each field of `ranges` whose value in the file is out of range or NaN.
void CheckRanges(const ConfigSection& section, absl::Span<const FieldRange> ranges);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_CLUSTER_CONFIG_TEXT_H_
