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

// Text as XML content or attribute value: & < > " ' as entities; bytes that are no UTF-8 and
// characters that XML does not allow (most below U+0020, U+FFFE, U+FFFF) as '?'.
std::string EscapeXml(absl::string_view text);

// A coordinate with at most two decimals: "12.5", "3". 0 if not finite.
std::string Coordinate(double value);

// A rectangle, pixels; y grows downwards.
struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;

  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

// Where a text stands relative to its point.
enum class Anchor : uint8_t { kStart, kMiddle, kEnd };

// Builds an SVG document element by element. `style` is always the name of a CSS class.
class Svg {
 public:
  using Attributes = std::vector<std::pair<absl::string_view, std::string>>;

  // A document of this size with a white background. `title` is what screen readers say; `css` and
  // `definitions` (patterns) are written as they are.
  Svg(double width, double height, absl::string_view title, absl::string_view css,
      absl::string_view definitions);

  // Opens an element that stays open until Close.
  void Open(absl::string_view tag, const Attributes& attributes);
  void Close();

  // A rectangle. If `tooltip` is not empty, it shows when the pointer rests on it.
  void Rect(const Box& box, absl::string_view style, absl::string_view tooltip = "");

  // Many rectangles of one style as one element; nothing if there are none.
  void Rects(absl::Span<const Box> boxes, absl::string_view style);

  // A path; `data` as in the attribute d, made of commands and Coordinates.
  void Path(absl::string_view data, absl::string_view style);

  void Line(double x1, double y1, double x2, double y2, absl::string_view style);

  void Text(double x, double y, absl::string_view text, absl::string_view style,
            Anchor anchor = Anchor::kStart);

  // A text that reads upwards, centred on its point.
  void VerticalText(double x, double y, absl::string_view text, absl::string_view style);

  // Bytes written so far.
  size_t size() const { return text_.size(); }

  // Ends the document. All that was opened must be closed.
  std::string Finish();

 private:
  void AppendRect(const Box& box, absl::string_view style);

  std::string text_;
  std::vector<std::string> open_;
};

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_SVG_H_
