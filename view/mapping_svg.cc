#include "view/mapping_svg.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/rounding.h"
#include "view/execution_plot.h"
#include "view/format.h"
#include "view/memory_plot.h"
#include "view/names.h"
#include "view/scene.h"
#include "view/svg.h"
#include "view/ticks.h"

namespace mallocmuzero::view {
namespace {

// The palette of Okabe and Ito, whose colours colour-blind people can tell apart.
constexpr char kCss[] =
    "text{font-family:Helvetica,Arial,sans-serif;font-size:11px;fill:#222;pointer-events:none}"
    ".h1{font-size:17px;font-weight:bold}.h2{font-size:14px;font-weight:bold}"
    ".note{font-size:13px;fill:#444}.notebox{fill:#fff;fill-opacity:.85}.t{font-size:10px;fill:#"
    "555}.l{font-size:9px;fill:#111}"
    ".k0{fill:#56b4e9}.k1{fill:#2bb38a}.k2{fill:#e69f00}.k3{fill:#cc79a7}"
    ".o{stroke:#fff;stroke-width:.5}.seen-through{pointer-events:none}"
    ".fly{fill:url(#hatch);pointer-events:none}"
    ".xpp{fill:none;stroke:#000;stroke-width:1.2;stroke-dasharray:4 2;pointer-events:none}"
    ".stall{fill:#c1121f}.band{fill:#c1121f;fill-opacity:.2;pointer-events:none}"
    ".pale{fill:#d5d5d5}.own{fill:#8c8c8c}.copies{fill:#0072b2}"
    ".i0{fill:#f0f0f0}.i1{fill:#dcdcdc}.after{fill:#f4f4f4}"
    ".frame{fill:none;stroke:#444;stroke-width:.8;pointer-events:none}"
    ".grid{fill:none;stroke:#000;stroke-opacity:.12;stroke-width:.6;pointer-events:none}"
    ".loop{fill:none;stroke:#444;stroke-width:1}";

constexpr char kDefinitions[] =
    "<pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"5\" height=\"5\" fill=\"#fff\" "
    "fill-opacity=\".35\"/><rect width=\"2\" height=\"5\" fill=\"#fff\" fill-opacity=\".6\"/>"
    "</pattern>";

// Sizes on the page, in pixels.
constexpr double kPageWidth = 1680;
constexpr double kTitleHeight = 40;
constexpr double kLegendHeight = 44;
constexpr double kLeft = 84;  // margin of a panel for labels
constexpr double kRight = 16;
constexpr double kHeader = 44;              // height of a panel's header
constexpr double kTitleCharacterWidth = 8;  // of the title of a panel
constexpr double kLoopRow = 18;
constexpr double kMemory = 320;
constexpr double kBelowMemory = 14;
constexpr double kGap = 8;
constexpr double kStallLane = 8;
constexpr double kCopyLane = 30;
constexpr double kBandwidthLane = 60;
constexpr double kInstructionLane = 84;  // height of the lane if a name written upwards must fit
constexpr double kThinInstructionLane = 14;  // height of the lane without names
constexpr double kAxis = 40;

// The smallest power of two that divides `range` into at most `parts` steps.
double BinaryStep(double range, int parts) {
  return std::exp2(std::ceil(std::log2(range / parts)));
}

class Picture {
 public:
  Picture(const Program& program, absl::Span<const Panel> panels, const PlotOptions& options)
      : program_(program), names_(program), options_(options), panels_(panels) {
    for (const Panel& panel : panels) {
      Trace trace = SimulateTrace(program, *panel.mapping);
      Timeline timeline(program, trace, options.axis);
      axis_end_ = std::max(axis_end_, timeline.end());
      scenes_.push_back({program, names_, *panel.mapping, std::move(trace), std::move(timeline)});
    }
    if (!(axis_end_ > 0) || !std::isfinite(axis_end_)) axis_end_ = 1;
  }

  std::string Draw() {
    const size_t columns = options_.stacked || panels_.size() < 2 ? 1 : 2;
    const size_t rows = (panels_.size() + columns - 1) / columns;
    const double panel_width = kPageWidth / static_cast<double>(columns);
    const double loops = kLoopRow * LoopDepth(program_);
    instruction_lane_ = kThinInstructionLane;
    const double axis_width = panel_width - kLeft - kRight;
    for (const Scene& scene : scenes_) {
      if (HasNamedInstruction(scene, axis_width / axis_end_)) instruction_lane_ = kInstructionLane;
    }
    const double panel_height = kHeader + loops + kMemory + kBelowMemory + kStallLane + kGap +
                                kCopyLane + kGap + kCopyLane + kGap + kBandwidthLane + kGap +
                                instruction_lane_ + kAxis;
    const double height = kTitleHeight + static_cast<double>(rows) * panel_height + kLegendHeight;
    const std::string title =
        absl::StrCat(Shorten(program_.proto().name(), 2 * Names::kMaxName), " on ",
                     Shorten(program_.hardware().name(), Names::kMaxName));
    Svg svg(kPageWidth, height, title, kCss, kDefinitions);
    svg.Text(kLeft, 27, title, "h1");
    svg.Text(kPageWidth - kRight, 27, Facts(), "", Anchor::kEnd);
    for (size_t p = 0; p < panels_.size(); ++p) {
      const size_t row = p / columns;
      const size_t column = p % columns;
      DrawPanel(p,
                {panel_width * static_cast<double>(column),
                 kTitleHeight + panel_height * static_cast<double>(row), panel_width, panel_height},
                svg);
    }
    DrawLegend(height - kLegendHeight, svg);
    return svg.Finish();
  }

 private:
  std::string Facts() const {
    return absl::StrCat(FormatCounted(program_.instruction_count(), "instruction"), ", ",
                        FormatCounted(program_.access_count(), "access", "accesses"), ", ",
                        FormatBytes(static_cast<double>(program_.hardware().fast_memory_bytes())),
                        " of fast memory");
  }

  void DrawPanel(size_t p, const Box& box, Svg& svg) {
    const Scene& scene = scenes_[p];
    double y = box.y;
    const auto lane = [&](double height, double gap) {
      const Field field = {{box.x + kLeft, y, box.width - kLeft - kRight, height}, axis_end_};
      y += height + gap;
      return field;
    };
    svg.Open("g", {{"class", "panel"}});
    DrawHeader(p, lane(kHeader, 0), svg);
    DrawLoops(scene, lane(kLoopRow * LoopDepth(program_), 0), svg);
    const Field memory = lane(kMemory, kBelowMemory);
    const Field stalls = lane(kStallLane, kGap);
    const Field in = lane(kCopyLane, kGap);
    const Field out = lane(kCopyLane, kGap);
    const Field bandwidth = lane(kBandwidthLane, kGap);
    const Field instructions = lane(instruction_lane_, 0);

    // The area behind the program's end is grey.
    Field all = memory;
    all.box.height = instructions.box.bottom() - memory.box.y;
    svg.Rect(all.Columns(scene.timeline.end(), axis_end_), "after");
    DrawMemoryPanel(p, memory, svg);
    Label(stalls, "stalls", svg);
    DrawStalls(scene, stalls, svg);
    Label(in, "copies in", svg);
    DrawCopies(scene, CopyDirection::kIn, in, svg);
    Label(out, "copies out", svg);
    DrawCopies(scene, CopyDirection::kOut, out, svg);
    DrawShares(bandwidth, svg);
    DrawBandwidth(scene, bandwidth, svg);
    Label(instructions, "instructions", svg);
    DrawInstructions(scene, instructions, svg);
    Field waits = all;
    waits.box.height = bandwidth.box.bottom() - all.box.y;
    DrawStallColumns(scene, waits, svg);
    for (const Field& framed : {memory, bandwidth}) svg.Rect(framed.box, "frame");
    for (const Field& ruled : {in, out}) {
      svg.Line(ruled.box.x, ruled.box.bottom(), ruled.box.right(), ruled.box.bottom(), "grid");
    }
    DrawAxis(all, svg);
    svg.Close();
  }

  static void Label(const Field& field, absl::string_view text, Svg& svg) {
    svg.Text(field.box.x - 6, field.box.y + field.box.height / 2 + 4, text, "t", Anchor::kEnd);
  }

  // Draws the ticks of a lane with shares of the HBM bandwidth.
  static void DrawShares(const Field& field, Svg& svg) {
    const double x = field.box.x - 6;
    svg.Text(x, field.box.y + 8, "100 %", "t", Anchor::kEnd);
    Label(field, "HBM rate", svg);
    svg.Text(x, field.box.bottom(), "0 %", "t", Anchor::kEnd);
  }

  void DrawHeader(size_t p, const Field& field, Svg& svg) const {
    const Price& price = scenes_[p].trace.price;
    const std::string title =
        Shorten(panels_[p].title, RoundToZero(field.box.width / kTitleCharacterWidth));
    svg.Text(field.box.x, field.box.y + 16, title, "h2");
    std::string text = FormatCycles(price.total_cycles);
    if (price.total_cycles > 0) {
      absl::StrAppend(&text, ", of it ", FormatPercent(price.stall_cycles / price.total_cycles),
                      " stalls");
    }
    absl::StrAppend(&text, ", ", FormatCounted(price.copies, "copy", "copies"));
    if (options_.default_cycles.value_or(0) > 0) {
      absl::StrAppend(&text, "; ", FormatChange(price.total_cycles, *options_.default_cycles),
                      " the compiled default");
    }
    svg.Text(field.box.x, field.box.y + 32, text, "");
  }

  void DrawMemoryPanel(size_t p, const Field& field, Svg& svg) const {
    absl::string_view note;
    if (scenes_[p].mapping.intervals.empty()) {
      note = "nothing is in fast memory";
    } else if (panels_[p].has_addresses) {
      DrawMemory(scenes_[p], field, svg);
    } else {
      DrawOccupancy(scenes_[p], field, svg);
      note = "addresses unknown: only how many bytes are in fast memory";
    }
    const double middle = field.box.x + field.box.width / 2;
    const double width = 7.5 * static_cast<double>(note.size());
    if (!note.empty()) {
      svg.Rect({middle - width / 2, field.box.y + 8, width, 24}, "notebox");
      svg.Text(middle, field.box.y + 24, note, "note", Anchor::kMiddle);
    }
    const double capacity = static_cast<double>(program_.hardware().fast_memory_bytes());
    const double step = BinaryStep(capacity, 8);
    for (int tick = 0; tick * step <= capacity; ++tick) {
      const double address = tick * step;
      const double y = field.box.bottom() - field.box.height * address / capacity;
      svg.Line(field.box.x, y, field.box.right(), y, "grid");
      svg.Text(field.box.x - 6, y + 4, FormatBytes(address), "t", Anchor::kEnd);
    }
  }

  void DrawAxis(const Field& field, Svg& svg) const {
    const bool in_cycles = options_.axis == Axis::kCycles;
    const double unit = !in_cycles || axis_end_ < 1e4 ? 1 : 1e6;
    const double step = std::max(NiceStep(axis_end_, 10), in_cycles ? 0.0 : 1.0);
    const double y = field.box.bottom();
    for (int k = 0; k * step <= axis_end_; ++k) {
      const double x = field.X(k * step);
      svg.Line(x, field.box.y, x, y + 4, "grid");
      svg.Text(x, y + 15, TickText(k * step / unit, step / unit), "t", Anchor::kMiddle);
    }
    svg.Text(field.box.x + field.box.width / 2, y + 30,
             !in_cycles  ? "instruction"
             : unit == 1 ? "cycles"
                         : "Mcycles",
             "t", Anchor::kMiddle);
  }

  static void DrawLegend(double y, Svg& svg) {
    const std::pair<const char*, absl::string_view> entries[] = {
        {"k0", BufferKindName(BufferKind::kInput)},
        {"k1", BufferKindName(BufferKind::kActivation)},
        {"k2", BufferKindName(BufferKind::kOutput)},
        {"k3", BufferKindName(BufferKind::kCarried)},
        {"hatched", "copy on its way"},
        {"xpp", "cross-program prefetch"},
        {"stall", "waiting for a copy or a collective"},
        {"pale", "queued until needed"},
        {"own", "HBM: own accesses"},
        {"copies", "HBM: copies"},
    };
    double x = kLeft;
    svg.Open("g", {{"class", "legend"}});
    for (const auto& [style, text] : entries) {
      const Box swatch = {x, y + 12, 14, 12};
      const bool hatched = absl::string_view(style) == "hatched";
      svg.Rect(swatch, hatched ? "k1" : style);
      if (hatched) svg.Rect(swatch, "fly");
      svg.Text(x + 20, y + 22, text, "");
      x += 20 + 6.2 * static_cast<double>(text.size()) + 22;
    }
    svg.Close();
  }

  const Program& program_;
  const Names names_;
  const PlotOptions& options_;
  absl::Span<const Panel> panels_;
  std::vector<Scene> scenes_;
  double axis_end_ = 0;
  double instruction_lane_ = kInstructionLane;
};

}  // namespace

void AddDefault(const Program& program, std::vector<Panel>& panels, PlotOptions& options) {
  const Baseline* baseline = program.baseline();
  if (baseline == nullptr) return;
  panels.push_back({.title = "default (the compiler's own)",
                    .mapping = &baseline->mapping,
                    .has_addresses = baseline->packed});
  options.default_cycles = baseline->compiled_cycles;
}

std::string MappingSvg(const Program& program, absl::Span<const Panel> panels,
                       const PlotOptions& options) {
  return Picture(program, panels, options).Draw();
}

}  // namespace mallocmuzero::view
