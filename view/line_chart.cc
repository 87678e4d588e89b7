#include "view/line_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/rounding.h"
#include "base/utf8.h"
#include "view/svg.h"
#include "view/ticks.h"

namespace mallocmuzero::view {
namespace {

// The palette of Okabe and Ito, whose colours colour-blind people can tell apart.
constexpr char kCss[] =
    "text{font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:#222}"
    ".h1{font-size:18px;font-weight:bold}.h2{font-size:13px;font-weight:bold}"
    ".note{fill:#555}.t{font-size:11px;fill:#444}.far{font-size:11px;font-style:italic}"
    ".frame{fill:none;stroke:#444;stroke-width:.8}"
    ".grid{fill:none;stroke:#000;stroke-opacity:.12;stroke-width:.6}"
    ".line,.level{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}"
    ".level{stroke-width:1.4;stroke-linecap:butt}.dot{stroke-width:5;stroke-linecap:round}"
    ".blue{stroke:#0072b2}.orange{stroke:#e69f00}.green{stroke:#009e73}"
    ".grey{stroke:#555;stroke-dasharray:6 3}.red{stroke:#d55e00;stroke-dasharray:2 3}";

constexpr double kLargest = 1e30;

// Sizes on the page, in pixels.
constexpr double kMargin = 16;
constexpr double kTitleHeight = 58;
constexpr double kLegendHeight = 30;
constexpr double kLegendSwatch = 26;
constexpr double kCharacterWidth = 6.6;
constexpr size_t kMostColumns = 3;

// Sizes within a chart, in pixels.
constexpr double kLeft = 70;
constexpr double kRight = 14;
constexpr double kHeader = 40;
constexpr double kAxis = 44;
constexpr double kTextHeight = 14;
constexpr int kTicksX = 6;
constexpr int kTicksY = 5;

// A level is drawn if the range of lines and level together is at most this many times that of the
// lines.
constexpr double kFarthest = 3;

absl::string_view ClassOf(LineStyle style) {
  switch (style) {
    case LineStyle::kBlue:
      return "blue";
    case LineStyle::kOrange:
      return "orange";
    case LineStyle::kGreen:
      return "green";
    case LineStyle::kGreyDashes:
      return "grey";
    case LineStyle::kRedDashes:
      return "red";
  }
  return "blue";
}

bool IsGap(const ChartPoint& point) {
  return !(std::abs(point.x) <= kLargest && std::abs(point.y) <= kLargest);
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

// A line from one point of the page to another.
struct Stroke {
  double x1 = 0;
  double y1 = 0;
  double x2 = 0;
  double y2 = 0;
};

// True if any part of the stroke is inside the box. Clips the stroke at each pair of edges in turn.
bool Crosses(const Stroke& stroke, const Box& box) {
  double begin = 0;
  double end = 1;
  const auto cut = [&](double from, double to, double low, double high) {
    if (from == to) {
      if (from < low || from > high) end = -1;
      return;
    }
    const double at_low = (low - from) / (to - from);
    const double at_high = (high - from) / (to - from);
    begin = std::max(begin, std::min(at_low, at_high));
    end = std::min(end, std::max(at_low, at_high));
  };
  cut(stroke.x1, stroke.x2, box.x, box.right());
  cut(stroke.y1, stroke.y2, box.y, box.bottom());
  return begin <= end;
}

class ChartPicture {
 public:
  ChartPicture(const Chart& chart, const Box& box, Svg& svg)
      : chart_(chart),
        plot_({box.x + kLeft, box.y + kHeader, box.width - kLeft - kRight,
               box.height - kHeader - kAxis}),
        svg_(svg) {
    Range lines;
    for (const ChartLine& line : chart.lines) {
      for (const ChartPoint& point : line.points) {
        if (IsGap(point)) continue;
        lines.Add(point.y);
        x_end_ = std::max(x_end_, point.x);
      }
    }
    is_empty_ = lines.empty();
    Range range = lines;
    for (const ChartLevel& level : chart.levels) {
      if (!(std::abs(level.y) <= kLargest)) continue;
      Range with = range;
      with.Add(level.y);
      const double height = NiceHeight(lines);
      const bool near = is_empty_ || with.high - with.low <= kFarthest * height;
      if (near) range = with;
      (near ? levels_ : far_levels_).push_back(&level);
    }
    if (!range.empty()) y_ = NiceScale(range.low, range.high, kTicksY);
    if (!(x_end_ > 0)) x_end_ = 1;
  }

  void Draw() {
    svg_.Open("g", {{"class", "chart"}});
    constexpr size_t kLongestTitle = 56;
    svg_.Text(plot_.x, plot_.y - 22, Abridge(chart_.title, kLongestTitle), "h2");
    svg_.Text(plot_.x, plot_.y - 7, chart_.note, "note");
    DrawAxes();
    for (const ChartLevel* level : levels_) {
      svg_.Line(plot_.x, Y(level->y), plot_.right(), Y(level->y), Style("level", level->style));
      strokes_.push_back({plot_.x, Y(level->y), plot_.right(), Y(level->y)});
    }
    for (const ChartLine& line : chart_.lines) DrawLine(line);
    NameFarLevels();
    if (is_empty_) {
      svg_.Text(plot_.x + plot_.width / 2, plot_.y + plot_.height / 2, "nothing measured yet",
                "note", Anchor::kMiddle);
    }
    svg_.Rect(plot_, "frame");
    svg_.Close();
  }

 private:
  // Height of the axis for the lines without levels.
  static double NiceHeight(const Range& lines) {
    if (lines.empty()) return 0;
    const Scale scale = NiceScale(lines.low, lines.high, kTicksY);
    return scale.high - scale.low;
  }

  static std::string Style(absl::string_view kind, LineStyle style) {
    return absl::StrCat(kind, " ", ClassOf(style));
  }

  double X(double x) const { return plot_.x + plot_.width * std::clamp(x / x_end_, 0.0, 1.0); }

  double Y(double y) const {
    const double share = (y - y_.low) / (y_.high - y_.low);
    return plot_.bottom() - plot_.height * std::clamp(share, 0.0, 1.0);
  }

  void DrawAxes() {
    const int64_t steps = std::lround((y_.high - y_.low) / y_.step);
    for (int64_t k = 0; k <= steps; ++k) {
      const double value = y_.low + k * y_.step;
      svg_.Line(plot_.x, Y(value), plot_.right(), Y(value), "grid");
      svg_.Text(plot_.x - 6, Y(value) + 4, TickText(value, y_.step), "t", Anchor::kEnd);
    }
    const double step = NiceStep(x_end_, kTicksX);
    for (int k = 0; k * step <= x_end_; ++k) {
      const double x = X(k * step);
      svg_.Line(x, plot_.y, x, plot_.bottom() + 4, "grid");
      svg_.Text(x, plot_.bottom() + 17, TickText(k * step, step), "t", Anchor::kMiddle);
    }
    svg_.Text(plot_.x + plot_.width / 2, plot_.bottom() + 34, chart_.x_label, "t", Anchor::kMiddle);
    svg_.VerticalText(plot_.x - kLeft + 12, plot_.y + plot_.height / 2, chart_.y_label, "t");
  }

  void DrawLine(const ChartLine& line) {
    const std::vector<ChartPoint> points = ThinOut(line.points, x_end_, RoundToZero(plot_.width));
    std::string path;
    std::string dots;  // single points between gaps, which would be invisible as lines
    for (size_t i = 0; i < points.size(); ++i) {
      if (IsGap(points[i])) continue;
      const double x = X(points[i].x);
      const double y = Y(points[i].y);
      const std::string at = absl::StrCat(Coordinate(x), " ", Coordinate(y));
      const bool begins = i == 0 || IsGap(points[i - 1]);
      const ChartPoint& from = begins ? points[i] : points[i - 1];
      strokes_.push_back({X(from.x), Y(from.y), x, y});
      const bool ends = i + 1 == points.size() || IsGap(points[i + 1]);
      if (begins && ends) {
        absl::StrAppend(&dots, "M", at, "h0");
      } else {
        absl::StrAppend(&path, begins ? "M" : "L", at);
      }
    }
    if (!path.empty()) svg_.Path(path, Style("line", line.style));
    if (!dots.empty()) svg_.Path(dots, Style("line dot", line.style));
  }

  // Names levels that are beyond the axis at the edge nearest to them, at a place where no line
  // passes.
  void NameFarLevels() {
    for (const ChartLevel* level : far_levels_) {
      const bool is_above = level->y > y_.high;
      const std::string text = absl::StrCat(is_above ? "↑ " : "↓ ", level->name, " ",
                                            TickText(level->y, std::min(y_.step, 0.1)));
      const Box place = FindPlace(static_cast<double>(text.size()) * kCharacterWidth, is_above);
      svg_.Text(place.x, place.bottom() - 3, text, "far");
      // The labels that follow must not cover this one.
      strokes_.push_back({place.x, place.y, place.right(), place.bottom()});
    }
  }

  // A free place for a line of text: as near as possible to the left corner, then to the upper or
  // lower edge.
  Box FindPlace(double width, bool is_above) const {
    const double height = kTextHeight;
    const double edge = is_above ? plot_.y + 3 : plot_.bottom() - 4 - height;
    const int64_t rows = RoundToZero(plot_.height / height);
    const int64_t columns = RoundToZero(2 * (plot_.width - 8) / width) - 1;
    for (int row = 0; row < rows; ++row) {
      const double y = edge + (is_above ? row : -row) * height;
      for (int column = 0; column < columns; ++column) {
        const Box place = {plot_.x + 8 + column * width / 2, y, width, height};
        const bool taken = std::any_of(strokes_.begin(), strokes_.end(), [&](const Stroke& stroke) {
          return Crosses(stroke, place);
        });
        if (!taken) return place;
      }
    }
    return {plot_.x + 8, edge, width, height};
  }

  const Chart& chart_;
  Box plot_;
  Svg& svg_;
  bool is_empty_ = true;
  double x_end_ = 0;
  Scale y_;
  std::vector<const ChartLevel*> levels_;      // levels within the axis
  std::vector<const ChartLevel*> far_levels_;  // levels beyond the axis
  std::vector<Stroke> strokes_;                // strokes and labels drawn so far
};

// A name and style for the legend. Entries are in the order of their first appearance on the page.
struct LegendEntry {
  std::string name;
  LineStyle style;
  bool is_level;
};

std::vector<LegendEntry> LegendOf(absl::Span<const Chart> charts) {
  std::vector<LegendEntry> entries;
  const auto add = [&](const std::string& name, LineStyle style, bool is_level) {
    const bool known = std::any_of(entries.begin(), entries.end(),
                                   [&](const LegendEntry& entry) { return entry.name == name; });
    if (!known && !name.empty()) entries.push_back({name, style, is_level});
  };
  for (const Chart& chart : charts) {
    for (const ChartLine& line : chart.lines) {
      const bool drawn = !std::all_of(line.points.begin(), line.points.end(), IsGap);
      if (drawn) add(line.name, line.style, false);
    }
  }
  for (const Chart& chart : charts) {
    for (const ChartLevel& level : chart.levels) add(level.name, level.style, true);
  }
  return entries;
}

void DrawLegend(absl::Span<const LegendEntry> entries, double y, Svg& svg) {
  double x = kMargin + kLeft;
  svg.Open("g", {{"class", "legend"}});
  for (const LegendEntry& entry : entries) {
    svg.Line(x, y, x + kLegendSwatch, y,
             absl::StrCat(entry.is_level ? "level " : "line ", ClassOf(entry.style)));
    svg.Text(x + kLegendSwatch + 6, y + 4, entry.name, "");
    x += kLegendSwatch + 6 + kCharacterWidth * static_cast<double>(entry.name.size()) + 22;
  }
  svg.Close();
}

// If a page has few charts, they are larger.
Box ChartSize(size_t columns) {
  if (columns == 1) return {0, 0, 860, 420};
  if (columns == 2) return {0, 0, 570, 310};
  return {0, 0, 440, 280};
}

}  // namespace

std::vector<ChartPoint> ThinOut(absl::Span<const ChartPoint> points, double x_end, int columns) {
  std::vector<ChartPoint> kept;
  const auto column_of = [&](const ChartPoint& point) {
    return std::floor(std::clamp(point.x / x_end, 0.0, 1.0) * columns);
  };
  for (size_t begin = 0; begin < points.size();) {
    if (IsGap(points[begin])) {
      if (!kept.empty() && !IsGap(kept.back())) kept.push_back(points[begin]);
      ++begin;
      continue;
    }
    size_t end = begin + 1;
    const double column = column_of(points[begin]);
    while (end < points.size() && !IsGap(points[end]) && column_of(points[end]) == column) ++end;
    const auto by_y = [](const ChartPoint& a, const ChartPoint& b) { return a.y < b.y; };
    const auto [lowest, highest] =
        std::minmax_element(points.begin() + begin, points.begin() + end, by_y);
    const size_t low = lowest - points.begin();
    const size_t high = highest - points.begin();
    size_t chosen[] = {begin, low, high, end - 1};
    std::sort(std::begin(chosen), std::end(chosen));
    const auto last = std::unique(std::begin(chosen), std::end(chosen));
    for (auto* i = std::begin(chosen); i != last; ++i) kept.push_back(points[*i]);
    begin = end;
  }
  return kept;
}

std::string ChartsSvg(absl::string_view title, absl::string_view facts,
                      absl::Span<const Chart> charts) {
  const size_t columns = charts.size() < 2 ? 1 : charts.size() <= 4 ? 2 : kMostColumns;
  const size_t rows = (charts.size() + columns - 1) / columns;
  const Box size = ChartSize(columns);
  std::vector<LegendEntry> legend = LegendOf(charts);
  if (legend.size() < 2) legend.clear();
  const double top = kTitleHeight + (legend.empty() ? 0 : kLegendHeight);
  const double width = 2 * kMargin + static_cast<double>(columns) * size.width;
  const double height = top + static_cast<double>(rows) * size.height + kMargin;
  Svg svg(width, height, title, kCss, "");
  svg.Text(kMargin + kLeft, 28, title, "h1");
  svg.Text(kMargin + kLeft, 48, facts, "note");
  if (!legend.empty()) DrawLegend(legend, kTitleHeight + 12, svg);
  for (size_t c = 0; c < charts.size(); ++c) {
    const size_t row = c / columns;
    const size_t column = c % columns;
    const Box box = {kMargin + size.width * static_cast<double>(column),
                     top + size.height * static_cast<double>(row), size.width, size.height};
    ChartPicture(charts[c], box, svg).Draw();
  }
  return svg.Finish();
}

}  // namespace mallocmuzero::view
