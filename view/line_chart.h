// Draws line charts, several on a page.

#ifndef MALLOCMUZERO_VIEW_LINE_CHART_H_
#define MALLOCMUZERO_VIEW_LINE_CHART_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace mallocmuzero::view {

// A point with a coordinate that is not finite or above 1e30 is a gap in its line.
struct ChartPoint {
  double x = 0;
  double y = 0;
};

// Colour and pattern of a line. The same style means the same thing everywhere on a page.
enum class LineStyle : uint8_t { kBlue, kOrange, kGreen, kGreyDashes, kRedDashes };

// One line of a chart.
struct ChartLine {
  std::string name;
  LineStyle style = LineStyle::kBlue;
  std::vector<ChartPoint> points;  // in ascending order of x
};

// A horizontal line for comparison.
struct ChartLevel {
  std::string name;
  LineStyle style = LineStyle::kGreyDashes;
  double y = 0;
};

// One chart of a page.
struct Chart {
  std::string title;
  std::string note;  // one line below the title
  std::string x_label;
  std::string y_label;
  std::vector<ChartLine> lines;
  std::vector<ChartLevel> levels;
};

// An SVG page of charts, from left to right and then down, with a title, a line of facts, and a
// legend if there is more than one name. The x axis begins at 0; the y axis goes from tick to tick
// around the lines. A level that would squeeze the lines into less than a third of the height is
// not drawn; it is named at the edge that it lies beyond, where no line passes. The size of the SVG
// is bounded by the pixels that lines cover, however many points they have.
std::string ChartsSvg(absl::string_view title, absl::string_view facts,
                      absl::Span<const Chart> charts);

// Keeps only the points that determine how a line looks if `columns` of equal width share [0,
// x_end]: for each column the first, the lowest, the highest and the last point, in order (M4:
// Jugel et al., VLDB 2014). Gaps are kept.
std::vector<ChartPoint> ThinOut(absl::Span<const ChartPoint> points, double x_end, int columns);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_LINE_CHART_H_
