#include "view/svg.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/utf8.h"

namespace mallocmuzero::view {
namespace {

// Length of the UTF-8 sequence at the start of `text`, or 0 if XML does not allow the character.
size_t CharacterLength(absl::string_view text) {
  const char lead = text[0];
  const bool is_control = absl::ascii_iscntrl(lead) && lead != '\x7f';
  if (is_control && lead != '\t' && lead != '\n' && lead != '\r') return 0;
  const size_t length = Utf8CharacterSize(text);
  const absl::string_view character = text.substr(0, length);
  const bool is_noncharacter = character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf";
  return is_noncharacter ? 0 : length;
}

absl::string_view AnchorName(Anchor anchor) {
  switch (anchor) {
    case Anchor::kStart:
      return "start";
    case Anchor::kMiddle:
      return "middle";
    case Anchor::kEnd:
      return "end";
  }
  return "start";
}

}  // namespace

std::string EscapeXml(absl::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 0) {
      escaped += '?';
    } else if (text[0] == '&') {
      escaped += "&amp;";
    } else if (text[0] == '<') {
      escaped += "&lt;";
    } else if (text[0] == '>') {
      escaped += "&gt;";
    } else if (text[0] == '"') {
      escaped += "&quot;";
    } else if (text[0] == '\'') {
      escaped += "&apos;";
    } else {
      escaped.append(text.data(), length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return escaped;
}

std::string Coordinate(double value) {
  if (!std::isfinite(value)) return "0";
  std::string digits = absl::StrFormat("%.2f", value);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits == "-0" ? "0" : digits;
}

Svg::Svg(double width, double height, absl::string_view title, absl::string_view css,
         absl::string_view definitions) {
  const std::string w = Coordinate(width);
  const std::string h = Coordinate(height);
  Open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
               {"width", w},
               {"height", h},
               {"viewBox", absl::StrCat("0 0 ", w, " ", h)}});
  absl::StrAppend(&text_, "<title>", EscapeXml(title), "</title>\n<style>", css, "</style>\n<defs>",
                  definitions, "</defs>\n");
  absl::StrAppend(&text_, "<rect width=\"", w, "\" height=\"", h, "\" fill=\"#ffffff\"/>\n");
}

void Svg::Open(absl::string_view tag, const Attributes& attributes) {
  absl::StrAppend(&text_, "<", tag);
  for (const auto& [name, value] : attributes) {
    absl::StrAppend(&text_, " ", name, "=\"", EscapeXml(value), "\"");
  }
  absl::StrAppend(&text_, ">\n");
  open_.emplace_back(tag);
}

void Svg::Close() {
  assert(!open_.empty());
  absl::StrAppend(&text_, "</", open_.back(), ">\n");
  open_.pop_back();
}

void Svg::AppendRect(const Box& box, absl::string_view style) {
  absl::StrAppend(&text_, "<rect class=\"", style, "\" x=\"", Coordinate(box.x), "\" y=\"",
                  Coordinate(box.y), "\" width=\"");
  absl::StrAppend(&text_, Coordinate(box.width), "\" height=\"", Coordinate(box.height), "\"");
}

void Svg::Rect(const Box& box, absl::string_view style, absl::string_view tooltip) {
  AppendRect(box, style);
  if (tooltip.empty()) {
    absl::StrAppend(&text_, "/>\n");
  } else {
    absl::StrAppend(&text_, "><title>", EscapeXml(tooltip), "</title></rect>\n");
  }
}

void Svg::Rects(absl::Span<const Box> boxes, absl::string_view style) {
  if (boxes.empty()) return;
  std::string data;
  for (const Box& box : boxes) {
    const std::string width = Coordinate(box.width);
    absl::StrAppend(&data, "M", Coordinate(box.x), " ", Coordinate(box.y), "h", width);
    absl::StrAppend(&data, "v", Coordinate(box.height), "h-", width, "z");
  }
  Path(data, style);
}

void Svg::Path(absl::string_view data, absl::string_view style) {
  absl::StrAppend(&text_, "<path class=\"", style, "\" d=\"", data, "\"/>\n");
}

void Svg::Line(double x1, double y1, double x2, double y2, absl::string_view style) {
  Path(absl::StrCat("M", Coordinate(x1), " ", Coordinate(y1), "L", Coordinate(x2), " ",
                    Coordinate(y2)),
       style);
}

void Svg::Text(double x, double y, absl::string_view text, absl::string_view style, Anchor anchor) {
  absl::StrAppend(&text_, "<text class=\"", style, "\" x=\"", Coordinate(x), "\" y=\"",
                  Coordinate(y), "\"");
  if (anchor != Anchor::kStart) {
    absl::StrAppend(&text_, " text-anchor=\"", AnchorName(anchor), "\"");
  }
  absl::StrAppend(&text_, ">", EscapeXml(text), "</text>\n");
}

void Svg::VerticalText(double x, double y, absl::string_view text, absl::string_view style) {
  absl::StrAppend(&text_, "<text class=\"", style,
                  "\" text-anchor=\"middle\" transform=\"translate(", Coordinate(x), " ",
                  Coordinate(y), ")rotate(-90)\">", EscapeXml(text), "</text>\n");
}

std::string Svg::Finish() {
  Close();
  assert(open_.empty());
  return text_;
}

}  // namespace mallocmuzero::view
