#include "view/testing/xml.h"

#include <cctype>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gtest/gtest.h"

namespace mallocmuzero::view::testing {
namespace {

constexpr std::pair<absl::string_view, char> kEntities[] = {
    {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};

class Parser {
 public:
  explicit Parser(absl::string_view document) : document_(document), rest_(document) {}

  absl::StatusOr<Element> ParseDocument() {
    Element root;
    MMZ_RETURN_IF_ERROR(ParseElement(root));
    SkipBlanks();
    if (!rest_.empty()) return Error("the end expected");
    return root;
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("at byte ", document_.size() - rest_.size(),
                                                   ": ", what, ", found '", rest_.substr(0, 20),
                                                   "'"));
  }

  bool Take(absl::string_view prefix) {
    if (rest_.substr(0, prefix.size()) != prefix) return false;
    rest_.remove_prefix(prefix.size());
    return true;
  }

  void SkipBlanks() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_[0])) != 0) {
      rest_.remove_prefix(1);
    }
  }

  std::string TakeName() {
    size_t length = 0;
    while (length < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[length])) != 0 ||
            (length > 0 && (rest_[length] == '-' || rest_[length] == ':')))) {
      ++length;
    }
    std::string name(rest_.substr(0, length));
    rest_.remove_prefix(length);
    return name;
  }

  // Takes text up to `end`, but not `end` itself.
  absl::Status TakeText(char end, std::string& text) {
    while (!rest_.empty() && rest_[0] != end) {
      if (rest_[0] == '<') return Error("no bare < expected");
      const uint8_t byte = rest_[0];
      if (byte < 0x20 && byte != '\n' && byte != '\t' && byte != '\r') {
        return Error("no control character expected");
      }
      if (rest_[0] != '&') {
        text += rest_[0];
        rest_.remove_prefix(1);
        continue;
      }
      bool known = false;
      for (const auto& [entity, character] : kEntities) {
        if (!Take(entity)) continue;
        text += character;
        known = true;
        break;
      }
      if (!known) return Error("one of the five entities expected");
    }
    return rest_.empty() ? Error(absl::StrCat("'", std::string(1, end), "' expected"))
                         : absl::OkStatus();
  }

  absl::Status ParseAttribute(Element& element) {
    const std::string name = TakeName();
    if (name.empty() || !Take("=\"")) return Error("an attribute expected");
    std::string value;
    MMZ_RETURN_IF_ERROR(TakeText('"', value));
    rest_.remove_prefix(1);
    if (!element.attributes.emplace(name, value).second) return Error("attribute given twice");
    return absl::OkStatus();
  }

  absl::Status ParseElement(Element& element) {
    if (!Take("<")) return Error("an element expected");
    element.tag = TakeName();
    if (element.tag.empty()) return Error("the name of an element expected");
    while (Take(" ")) MMZ_RETURN_IF_ERROR(ParseAttribute(element));
    if (Take("/>")) return absl::OkStatus();
    if (!Take(">")) return Error("'>' expected");
    while (true) {
      MMZ_RETURN_IF_ERROR(TakeText('<', element.text));
      if (Take("</")) break;
      MMZ_RETURN_IF_ERROR(ParseElement(element.children.emplace_back()));
    }
    if (!Take(element.tag) || !Take(">"))
      return Error(absl::StrCat("</", element.tag, "> expected"));
    return absl::OkStatus();
  }

  absl::string_view document_;
  absl::string_view rest_;
};

void FindBelow(const Element& element, absl::string_view tag, absl::string_view style,
               std::vector<const Element*>& found) {
  const auto css = element.attributes.find("class");
  if (element.tag == tag &&
      (style.empty() || (css != element.attributes.end() && css->second == style))) {
    found.push_back(&element);
  }
  for (const Element& child : element.children) FindBelow(child, tag, style, found);
}

}  // namespace

double Element::Number(const std::string& attribute) const {
  const auto found = attributes.find(attribute);
  double value = 0;
  if (found == attributes.end() || !absl::SimpleAtod(found->second, &value)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return value;
}

std::vector<const Element*> Element::Find(absl::string_view with_tag,
                                          absl::string_view style) const {
  std::vector<const Element*> found;
  FindBelow(*this, with_tag, style, found);
  return found;
}

absl::StatusOr<Element> ParseXml(absl::string_view document) {
  return Parser(document).ParseDocument();
}

Element Parsed(absl::string_view document) {
  const absl::StatusOr<Element> root = ParseXml(document);
  EXPECT_TRUE(root.ok()) << root.status();
  return root.ok() ? *root : Element();
}

std::vector<std::string> Texts(const Element& element, absl::string_view tag) {
  std::vector<std::string> texts;
  for (const Element* found : element.Find(tag)) texts.push_back(found->text);
  return texts;
}

}  // namespace mallocmuzero::view::testing
