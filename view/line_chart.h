// Charts of lines over a common quantity, several on a page.

#ifndef MALLOCMUZERO_VIEW_LINE_CHART_H_
#define MALLOCMUZERO_VIEW_LINE_CHART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace mallocmuzero::view {

// Points with a coordinate that is not finite, or above 1e30, are gaps.
struct ChartPoint {
  double x = 0;
  double y = 0;
};

// How a line is drawn; the same colour means the same thing on a page.
enum class LineStyle : uint8_t { kBlue, kOrange, kGreen, kGreyDashes, kRedDashes };

struct ChartLine {
  std::string name;
  LineStyle style = LineStyle::kBlue;
  std::vector<ChartPoint> points;  // by ascending x
};

// A horizontal line to compare with.
struct ChartLevel {
  std::string name;
  LineStyle style = LineStyle::kGreyDashes;
  double y = 0;
};

struct Chart {
  std::string title;
  std::string note;  // one line below the title
  std::string x_label;
  std::string y_label;
  std::vector<ChartLine> lines;
  std::vector<ChartLevel> levels;
};

// An SVG page of charts, left to right and then down, with the page's title, a line of facts, and a
// legend wherever there is more than one name. The axis of x begins at 0, that of y goes from tick
// to tick around the lines. A level so far from them that they would be squeezed into less than a
// third of the height is named at the edge that it lies beyond, where no line passes. However many
// points a line has, what is written of it is bounded by the pixels it covers.
std::string ChartsSvg(absl::string_view title, absl::string_view facts,
                      absl::Span<const Chart> charts);

// The points that decide what a line looks like where `columns` of equal width share [0, x_end]: of
// those in one column, the first, the lowest, the highest and the last, in order (M4: Jugel et al.,
// VLDB 2014). Gaps stay gaps.
std::vector<ChartPoint> ThinOut(absl::Span<const ChartPoint> points, double x_end, int columns);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_LINE_CHART_H_
