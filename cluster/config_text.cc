#include "cluster/config_text.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/tokenizer.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cluster/set_field.h"

namespace mallocmuzero {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

// The number of wrong lines after which the parser gives up on the file.
constexpr int kMostWrongLines = 100;

// The most levels of nesting, since the parser recurses. Real files have three.
constexpr int kMostLevels = 32;

// A message of the parser about a line.
struct Entry {
  int line;
  std::string text;
};

// Collects the parser's messages. The parser reports an unknown field as a warning and continues;
// it ends at the first error.
class Collector : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int, const std::string& text) override {
    entries_.push_back({line, text});
    if (!error_.has_value()) error_ = entries_.back();
  }
  void AddWarning(int line, int, const std::string& text) override {
    entries_.push_back({line, text});
  }

  // The first error, if any.
  const std::optional<Entry>& error() const { return error_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::optional<Entry> error_;
  std::vector<Entry> entries_;
};

// Adds a mistake that suggests the most similar field. `text` is the parser's message, such as:
//   Message type "mallocmuzero.v1.ReplayShard" has no field named "adress".
void ComplainOfUnknownField(int line, const std::string& text, const Message& root,
                            ConfigMistakes& mistakes) {
  const std::vector<std::string> parts = absl::StrSplit(text, '"');
  const Descriptor* type = root.GetDescriptor()->file()->pool()->FindMessageTypeByName(parts[1]);
  if (type == nullptr) return mistakes.Add(line, "", text);
  mistakes.Add(line, parts[3], absl::StrCat("no such field; ", SuggestField(*type, parts[3])));
}

// Returns the field of enumerators with this name, of `type` or of a message in it; null if there
// is none. Messages of configurations do not contain themselves.
const FieldDescriptor* FindEnumField(const Descriptor& type, absl::string_view name) {
  for (int f = 0; f < type.field_count(); ++f) {
    const FieldDescriptor* field = type.field(f);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM && field->name() == name) return field;
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    field = FindEnumField(*field->message_type(), name);
    if (field != nullptr) return field;
  }
  return nullptr;
}

// Adds a mistake with the enumerators that the field may have. `text` is the parser's message, such
// as:
//   Unknown enumeration value of "DISK" for field "mode".
void ComplainOfUnknownName(int line, const std::string& text, const Message& root,
                           ConfigMistakes& mistakes) {
  const std::vector<std::string> parts = absl::StrSplit(text, '"');
  const FieldDescriptor* field = FindEnumField(*root.GetDescriptor(), parts[3]);
  if (field == nullptr) return mistakes.Add(line, "", text);
  mistakes.Add(line, parts[3],
               absl::StrCat("'", parts[1], "' given, ", ExpectedValue(*field), " expected"));
}

// The parser's message, or our own where the parser's does not say that the file ends.
std::string InPlainWords(const std::string& text) {
  if (text == "Expected identifier, got: ") {
    return "the file ends within a section: '}' expected";
  }
  return text;
}

// Returns the field's name if the line is "field: value" without braces, so that it can be left out
// without changing the meaning of other lines. Otherwise returns an empty string.
std::string FieldOfPlainLine(absl::string_view line) {
  const absl::string_view text = absl::StripAsciiWhitespace(line);
  const size_t name_end =
      std::find_if_not(text.begin(), text.end(),
                       [](char c) { return absl::ascii_isalnum(c) || c == '_'; }) -
      text.begin();
  const absl::string_view rest = absl::StripLeadingAsciiWhitespace(text.substr(name_end));
  if (name_end == 0 || !absl::StartsWith(rest, ":")) return "";
  if (rest.find_first_of("{}<>[]") != absl::string_view::npos) return "";
  return std::string(text.substr(0, name_end));
}

// Returns the line to leave out because of the parser's error `text` at `line`, or -1 if there is
// none. It is this line or one above, because the parser finds some mistakes only after the value.
int FindPlainLine(const std::vector<std::string>& lines, int line, absl::string_view text) {
  if (line < 0 || line >= std::ssize(lines)) return -1;
  const size_t quoted = text.find("field \"");
  if (quoted != absl::string_view::npos) {
    const absl::string_view rest = text.substr(quoted + 7);
    const absl::string_view field = rest.substr(0, rest.find('"'));
    for (int i = line; i >= 0; --i) {
      if (FieldOfPlainLine(lines[i]) == field) return i;
    }
    return -1;
  }
  if (line > 0 && !FieldOfPlainLine(lines[line - 1]).empty() &&
      absl::EndsWith(absl::StripAsciiWhitespace(lines[line - 1]), ":")) {
    return line - 1;
  }
  return FieldOfPlainLine(lines[line]).empty() ? -1 : line;
}

// Copies one singular field that is not a message.
void CopyScalar(const Message& from, const FieldDescriptor* field, Message& to) {
  const Reflection& get = *from.GetReflection();
  const Reflection& set = *to.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
      return set.SetUInt32(&to, field, get.GetUInt32(from, field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return set.SetUInt64(&to, field, get.GetUInt64(from, field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return set.SetFloat(&to, field, get.GetFloat(from, field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return set.SetDouble(&to, field, get.GetDouble(from, field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return set.SetBool(&to, field, get.GetBool(from, field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return set.SetEnumValue(&to, field, get.GetEnumValue(from, field));
    case FieldDescriptor::CPPTYPE_STRING:
      return set.SetString(&to, field, get.GetString(from, field));
    default:
      assert(false && "no such type in the configuration");
  }
}

}  // namespace

ConfigPlaces ParseConfigText(absl::string_view text, Message& message, ConfigMistakes& mistakes) {
  ConfigPlaces places;
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (int attempt = 0;; ++attempt) {
    Collector collector;
    places.tree = std::make_unique<TextFormat::ParseInfoTree>();
    TextFormat::Parser parser;
    parser.RecordErrorsTo(&collector);
    parser.WriteLocationsTo(places.tree.get());
    parser.AllowUnknownField(true);
    parser.SetRecursionLimit(kMostLevels);
    const bool parsed = parser.ParseFromString(absl::StrJoin(lines, "\n"), &message);
    const std::optional<Entry>& error = collector.error();
    const int wrong = error.has_value() && attempt < kMostWrongLines
                          ? FindPlainLine(lines, error->line, error->text)
                          : -1;
    // If the text will be parsed again without the wrong line, only that line's error is noted
    // here: the other messages will come again.
    for (const Entry& entry : collector.entries()) {
      const bool is_error = error.has_value() && entry.line == error->line;
      if (wrong >= 0 && !is_error) continue;
      if (absl::StrContains(entry.text, "\" has no field named \"")) {
        ComplainOfUnknownField(entry.line, entry.text, message, mistakes);
        continue;
      }
      const int line = is_error && wrong >= 0 ? wrong : entry.line;
      if (absl::StartsWith(entry.text, "Unknown enumeration value of \"")) {
        ComplainOfUnknownName(line, entry.text, message, mistakes);
      } else {
        mistakes.Add(line, wrong >= 0 ? FieldOfPlainLine(lines[wrong]) : "",
                     InPlainWords(entry.text));
      }
    }
    places.complete = parsed;
    if (parsed || wrong < 0) return places;
    places.unreadable.push_back(FieldOfPlainLine(lines[wrong]));
    lines[wrong].clear();
  }
}

ConfigSection::ConfigSection(Message& message, const ConfigPlaces& places, ConfigMistakes& mistakes)
    : message_(&message), places_(&places), mistakes_(&mistakes), tree_(places.tree.get()) {}

const FieldDescriptor* ConfigSection::Find(const std::string& field) const {
  const FieldDescriptor* found = message_->GetDescriptor()->FindFieldByName(field);
  assert(found != nullptr);
  return found;
}

bool ConfigSection::Given(const std::string& field) const {
  return PlaceOf(field, -1) >= 0 || SourceBelow(PathOf(field)) != nullptr;
}

bool ConfigSection::GivenOrUnreadable(const std::string& field) const {
  return Given(field) || std::find(places_->unreadable.begin(), places_->unreadable.end(), field) !=
                             places_->unreadable.end();
}

ConfigSection ConfigSection::Nested(const std::string& field, int index) const {
  const FieldDescriptor* descriptor = Find(field);
  const Reflection& reflection = *message_->GetReflection();
  ConfigSection nested;
  nested.message_ = index < 0 ? reflection.MutableMessage(message_, descriptor)
                              : reflection.MutableRepeatedMessage(message_, descriptor, index);
  nested.places_ = places_;
  nested.mistakes_ = mistakes_;
  nested.tree_ = tree_ == nullptr ? nullptr : tree_->GetTreeForNested(descriptor, index);
  nested.path_ = PathOf(field, index);
  nested.line_ = LineOf(field, index);
  return nested;
}

void ConfigSection::FillIn(const Message& defaults) const {
  std::vector<const FieldDescriptor*> fields;
  defaults.GetReflection()->ListFields(defaults, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_repeated()) continue;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Nested(field->name()).FillIn(defaults.GetReflection()->GetMessage(defaults, field));
    } else if (!Given(field->name())) {
      CopyScalar(defaults, field, *message_);
    }
  }
}

void ConfigSection::Complain(const std::string& field, const std::string& message,
                             int index) const {
  const std::string path = PathOf(field, index);
  auto exact = places_->overrides.find(path);
  // An override without a number has replaced the list.
  if (exact == places_->overrides.end()) exact = places_->overrides.find(PathOf(field));
  if (exact != places_->overrides.end()) {
    return mistakes_->AddForOverride(exact->second, message);
  }
  const std::string* source = PlaceOf(field, index) < 0 ? SourceBelow(path) : nullptr;
  // A section that the file does not have exists because of an override.
  if (source == nullptr && tree_ == nullptr) source = SourceBelow(path_);
  if (source != nullptr) {
    return mistakes_->AddForOverride(*source, absl::StrCat(path, ": ", message));
  }
  mistakes_->Add(LineOf(field, index), path, message);
}

void ConfigSection::Complain(const std::string& message) const {
  const std::string* source = tree_ == nullptr ? SourceBelow(path_) : nullptr;
  if (source != nullptr) {
    return mistakes_->AddForOverride(*source, absl::StrCat(path_, ": ", message));
  }
  mistakes_->Add(line_, path_, message);
}

std::string ConfigSection::WhereIs(const std::string& field) const {
  const auto exact = places_->overrides.find(PathOf(field));
  if (exact != places_->overrides.end()) return exact->second;
  return absl::StrCat("line ", LineOf(field) + 1);
}

const std::string* ConfigSection::SourceBelow(const std::string& path) const {
  for (auto at = places_->overrides.lower_bound(path);
       at != places_->overrides.end() && absl::StartsWith(at->first, path); ++at) {
    const bool is_below = at->first.size() > path.size() &&
                          (at->first[path.size()] == '.' || at->first[path.size()] == '[');
    if (at->first == path || is_below) return &at->second;
  }
  return nullptr;
}

std::string ConfigSection::PathOf(const std::string& field, int index) const {
  std::string path = path_.empty() ? field : absl::StrCat(path_, ".", field);
  if (index >= 0) absl::StrAppend(&path, "[", index, "]");
  return path;
}

int ConfigSection::LineOf(const std::string& field, int index) const {
  const int line = PlaceOf(field, index);
  return line >= 0 ? line : line_;
}

int ConfigSection::PlaceOf(const std::string& field, int index) const {
  if (tree_ == nullptr) return -1;
  const FieldDescriptor* descriptor = Find(field);
  // The line of a repeated field as a whole is that of its first value.
  return tree_->GetLocation(descriptor, descriptor->is_repeated() ? std::max(0, index) : -1).line;
}

void CheckRanges(const ConfigSection& section, absl::Span<const FieldRange> ranges) {
  for (const FieldRange& range : ranges) {
    if (!section.Given(range.field)) continue;
    const std::string wrong = WrongRange(section.message(), range);
    if (!wrong.empty()) section.Complain(range.field, wrong);
  }
}

}  // namespace mallocmuzero
