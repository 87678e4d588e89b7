// A strict reader of the XML that pictures are made of, for tests.

#ifndef MALLOCMUZERO_VIEW_TESTING_XML_H_
#define MALLOCMUZERO_VIEW_TESTING_XML_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero::view::testing {

struct Element {
  std::string tag;
  std::map<std::string, std::string> attributes;  // with entities replaced
  std::string text;  // all text between children, with entities replaced
  std::vector<Element> children;

  // The attribute as a number; NaN if it is missing or no number.
  double Number(const std::string& attribute) const;

  // This element and all elements below it with this tag and, unless `style` is empty, this class,
  // in the order of the document.
  std::vector<const Element*> Find(absl::string_view tag, absl::string_view style = "") const;
};

// Returns the root element. InvalidArgument, with the position, if the document is not well-formed:
// tags that do not match, attributes without quotes or given twice, bare < and &, unknown entities,
// control characters, text outside the root. Supports only elements, attributes, text and the five
// entities; any other construct of XML is an error.
absl::StatusOr<Element> ParseXml(absl::string_view document);

// The same for a document that must be well-formed: otherwise the running test fails, and the
// element is empty.
Element Parsed(absl::string_view document);

// The texts of the element and all elements below it with this tag, in the order of the document.
std::vector<std::string> Texts(const Element& element, absl::string_view tag = "text");

}  // namespace mallocmuzero::view::testing

#endif  // MALLOCMUZERO_VIEW_TESTING_XML_H_
