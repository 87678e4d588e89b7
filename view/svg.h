// Writes well-formed SVG: escaping, numbers, nesting.

#ifndef MALLOCMUZERO_VIEW_SVG_H_
#define MALLOCMUZERO_VIEW_SVG_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace mallocmuzero::view {

// Text as XML content or attribute value. & < > " ' become entities. Bytes that are not UTF-8, and
// characters that XML does not allow (most below U+0020, U+FFFE, U+FFFF), become '?'.
std::string EscapeXml(absl::string_view text);

// A coordinate with at most two decimals: "12.5", "3". 0 if the value is not finite.
std::string Coordinate(double value);

// A rectangle in pixels; y grows downwards.
struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;

  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

// The position of a text relative to its point.
enum class Anchor : uint8_t { kStart, kMiddle, kEnd };

// Builds an SVG document element by element. `style` is always the name of a CSS class.
class Svg {
 public:
  using Attributes = std::vector<std::pair<absl::string_view, std::string>>;

  // Begins a document of this size with a white background. Screen readers read `title`. `css` and
  // `definitions` (patterns) are written unchanged.
  Svg(double width, double height, absl::string_view title, absl::string_view css,
      absl::string_view definitions);

  // Opens an element that stays open until Close.
  void Open(absl::string_view tag, const Attributes& attributes);
  void Close();

  // Draws a rectangle. If `tooltip` is not empty, it appears when the pointer is over the
  // rectangle.
  void Rect(const Box& box, absl::string_view style, absl::string_view tooltip = "");

  // Draws many rectangles of one style as one element; draws nothing if there are none.
  void Rects(absl::Span<const Box> boxes, absl::string_view style);

  // Draws a path. `data` is the attribute d, made of commands and Coordinates.
  void Path(absl::string_view data, absl::string_view style);

  // Draws a straight line.
  void Line(double x1, double y1, double x2, double y2, absl::string_view style);

  // Draws a text; its base line is at y.
  void Text(double x, double y, absl::string_view text, absl::string_view style,
            Anchor anchor = Anchor::kStart);

  // Draws a text that reads upwards, centred on its point.
  void VerticalText(double x, double y, absl::string_view text, absl::string_view style);

  // Bytes written so far.
  size_t size() const { return text_.size(); }

  // Ends the document and returns it. Every opened element must be closed.
  std::string Finish();

 private:
  void AppendRect(const Box& box, absl::string_view style);

  std::string text_;
  std::vector<std::string> open_;
};

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_SVG_H_
