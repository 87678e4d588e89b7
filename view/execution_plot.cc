#include "view/execution_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rounding.h"
#include "base/utf8.h"
#include "view/format.h"
#include "view/lanes.h"
#include "view/rect_layer.h"

namespace mallocmuzero::view {
namespace {

constexpr double kCharacterWidth = 5.5;   // of a label, pixels
constexpr double kLabelHeight = 10;       // pixels
constexpr double kBelowMiddle = 3;        // distance of a label's base line from its middle, pixels
constexpr double kCopyRow = 6;            // pixels
constexpr double kNarrowestColumn = 0.7;  // of the bandwidth, pixels
constexpr size_t kTooltipBytes = 60'000;  // bytes of SVG with tooltips, for each lane
constexpr size_t kLongestStandingName = 15;
constexpr double kStandingNameHeight = 60;  // room for a name written upwards, pixels

// A wait just before an instruction.
struct Stall {
  InstructionIndex instruction;
  double cycles;  // of one execution
  Timeline::Span span;
};

std::vector<Stall> StallsOf(const Scene& scene) {
  std::vector<Stall> stalls;
  for (const InstructionIndex i : scene.trace.steps.indices()) {
    const TraceStep& step = scene.trace.steps[i];
    const double cycles = step.WaitCycles();
    if (cycles > 0) {
      stalls.push_back({i, cycles, {scene.timeline.Reached(i), scene.timeline.Running(i)}});
    }
  }
  return stalls;
}

// Text such as "3 times 1,200 cycles", or just the cycles if it happens once.
std::string Repeated(const Scene& scene, InstructionIndex instruction, double cycles) {
  const double count = scene.program.instructions().contains(instruction)
                           ? scene.program.instructions()[instruction].execution_count
                           : 1;
  if (count == 1) return FormatCycles(cycles);
  return absl::StrCat(FormatCount(count), " times ", FormatCycles(cycles));
}

std::string CopyTooltip(const Scene& scene, CopyDirection direction, const CopyBar& bar) {
  const Interval& interval = scene.mapping.intervals[bar.interval];
  const bool in = direction == CopyDirection::kIn;
  const InstructionIndex start = in ? interval.copy_in_start : interval.copy_out_start;
  const InstructionIndex done = in ? interval.copy_in_done : interval.copy_out_done;
  std::string text = absl::StrCat(
      in ? "copy into fast memory: " : "copy to HBM: ", scene.names.Tensor(interval.buffer), ", ",
      FormatBytes(static_cast<double>(scene.program.buffers()[interval.buffer].bytes)),
      "\nqueued before ", Place(scene, start), ", needed before ", Place(scene, done));
  if (bar.wait_cycles > 0) {
    absl::StrAppend(&text, "\nthe program waits for it: ", Repeated(scene, done, bar.wait_cycles));
  }
  return text;
}

// A range of the axis, with the shares of the HBM bandwidth in use.
struct Use {
  double begin = 0;  // pixels
  double end = 0;
  double own = 0;  // share of the instructions' own accesses, 0 to 1
  double copies = 0;
};

// Joins neighbouring ranges until each is wide enough to see. The shares of a joined range are
// means weighted by width.
class UseColumns {
 public:
  void Add(const Use& use) {
    if (use.end <= use.begin) return;
    if (columns_.empty() || Width(columns_.back()) >= kNarrowestColumn) {
      columns_.push_back(use);
      return;
    }
    Use& last = columns_.back();
    const double before = Width(last);
    const double added = Width(use);
    last.own = (last.own * before + use.own * added) / (before + added);
    last.copies = (last.copies * before + use.copies * added) / (before + added);
    last.end = use.end;
  }

  const std::vector<Use>& columns() const { return columns_; }

 private:
  static double Width(const Use& use) { return use.end - use.begin; }

  std::vector<Use> columns_;
};

UseColumns BandwidthOf(const Scene& scene, const Field& field) {
  UseColumns columns;
  const double rate = scene.program.hardware().hbm_bytes_per_cycle();
  std::array<double, 2> moved = {0, 0};
  for (const InstructionIndex i : scene.trace.steps.indices()) {
    const TraceStep& step = scene.trace.steps[i];
    const double reached = scene.timeline.Reached(i);
    const double running = scene.timeline.Running(i);
    const double collectives = step.wait_for_collectives;
    const double begin =
        collectives > 0 ? reached + (running - reached) * collectives / step.WaitCycles() : reached;
    columns.Add({field.X(reached), field.X(begin), 0, CopiesDuringCollectives(moved, step, rate)});
    // A wait for a copy leaves it the whole bandwidth.
    columns.Add({field.X(begin), field.X(running), 0, 1});
    moved = step.moved;
    if (!scene.program.instructions().contains(i)) break;
    const BandwidthUse use = UseWhileRunning(step, rate);
    columns.Add({field.X(running), field.X(scene.timeline.Reached(i + 1)), use.own, use.copies});
  }
  return columns;
}

}  // namespace

int LoopDepth(const Program& program) {
  int depth = 0;
  for (const Loop& loop : program.loops()) depth = std::max(depth, DepthOf(program, loop) + 1);
  return depth;
}

void DrawLoops(const Scene& scene, const Field& field, Svg& svg) {
  const int rows = LoopDepth(scene.program);
  if (rows == 0) return;
  const double row_height = field.box.height / rows;
  std::string brackets;
  for (const LoopIndex k : scene.program.loops().indices()) {
    const Loop& loop = scene.program.loops()[k];
    const v1::Loop& proto = scene.program.MessageOf(k);
    const double begin = field.X(scene.timeline.Running(loop.begin));
    const double end = field.X(scene.timeline.Running(loop.end));
    const double y = field.box.y + row_height * DepthOf(scene.program, loop) + row_height - 1;
    absl::StrAppend(&brackets, "M", Coordinate(begin), " ", Coordinate(y), "v-3H", Coordinate(end),
                    "v3");
    const std::string times = absl::StrCat("x", FormatCount(static_cast<double>(loop.trip_count)),
                                           proto.trip_count_known() ? "" : " (assumed)");
    const std::string name = absl::StrCat(Shorten(proto.name(), Names::kMaxName), " ", times);
    for (const std::string& text : {name, times}) {
      if (kCharacterWidth * static_cast<double>(text.size()) > end - begin) continue;
      svg.Text((begin + end) / 2, y - 6, text, "l", Anchor::kMiddle);
      break;
    }
  }
  svg.Path(brackets, "loop");
}

void DrawStalls(const Scene& scene, const Field& field, Svg& svg) {
  const std::vector<Stall> stalls = StallsOf(scene);
  RectLayer layer;
  for (size_t k = 0; k < stalls.size(); ++k) {
    Box box = field.Columns(stalls[k].span.begin, stalls[k].span.end);
    box.width = std::max(box.width, 1.0);
    layer.Add(box, "stall", k);
  }
  svg.Open("g", {{"class", "stalls"}});
  layer.Draw(
      kTooltipBytes,
      [&](size_t k) {
        return absl::StrCat("waits before ", Place(scene, stalls[k].instruction), ": ",
                            Repeated(scene, stalls[k].instruction, stalls[k].cycles));
      },
      svg);
  svg.Close();
}

void DrawStallColumns(const Scene& scene, const Field& field, Svg& svg) {
  std::vector<Box> columns;
  for (const Stall& stall : StallsOf(scene)) {
    const Box box = field.Columns(stall.span.begin, stall.span.end);
    if (!columns.empty() && box.x <= columns.back().right() + 0.1) {
      columns.back().width = box.right() - columns.back().x;
    } else if (box.width > 0.1) {
      columns.push_back(box);
    }
  }
  svg.Rects(columns, "band");
}

void DrawCopies(const Scene& scene, CopyDirection direction, const Field& field, Svg& svg) {
  const std::vector<CopyBar> bars = CopiesOf(scene.mapping, scene.trace, scene.timeline, direction);
  std::vector<double> row_ends(RoundToZero(field.box.height / kCopyRow), -1);
  RectLayer pale;
  RectLayer solid;
  for (size_t k = 0; k < bars.size(); ++k) {
    const CopyBar& bar = bars[k];
    // The first free row; if no row is free, the row that becomes free first.
    auto row = std::find_if(row_ends.begin(), row_ends.end(),
                            [&](double end) { return end <= bar.on_its_way.begin; });
    if (row == row_ends.end()) row = std::min_element(row_ends.begin(), row_ends.end());
    *row = std::max(*row, bar.on_its_way.end);
    const double y = field.box.y + kCopyRow * static_cast<double>(row - row_ends.begin()) + 0.5;
    const auto box_of = [&](const Timeline::Span& span) {
      const Box columns = field.Columns(span.begin, span.end);
      return Box{columns.x, y, std::max(columns.width, 1.0), kCopyRow - 1};
    };
    pale.Add(box_of(bar.on_its_way), "pale", k);
    const BufferKind kind = scene.names.Kind(scene.mapping.intervals[bar.interval].buffer);
    for (const Timeline::Span& span : bar.moving) {
      solid.Add(box_of(span), KindStyle(kind, false), k);
    }
  }
  const auto tooltip = [&](size_t k) { return CopyTooltip(scene, direction, bars[k]); };
  svg.Open("g", {{"class", direction == CopyDirection::kIn ? "in" : "out"}});
  pale.Draw(kTooltipBytes, tooltip, svg);
  svg.Open("g", {{"class", "seen-through"}});  // lets the pointer reach the tooltips below
  solid.Draw(0, tooltip, svg);
  svg.Close();
  svg.Close();
}

void DrawBandwidth(const Scene& scene, const Field& field, Svg& svg) {
  const UseColumns columns = BandwidthOf(scene, field);
  if (columns.columns().empty()) return;
  // The outline goes from the base line up, over the tops from left to right, and down to the base
  // line.
  const std::string base = Coordinate(field.box.bottom());
  const auto area = [&](bool with_copies) {
    std::string data = absl::StrCat("M", Coordinate(columns.columns().front().begin), " ", base);
    for (const Use& use : columns.columns()) {
      const double share = use.own + (with_copies ? use.copies : 0);
      absl::StrAppend(&data, "V", Coordinate(field.box.bottom() - field.box.height * share), "H",
                      Coordinate(use.end));
    }
    return absl::StrCat(data, "V", base, "z");
  };
  svg.Path(area(true), "copies");
  svg.Path(area(false), "own");
}

bool HasNamedInstruction(const Scene& scene, double pixels_per_position) {
  for (const InstructionIndex i : scene.program.instructions().indices()) {
    const double width = scene.timeline.Reached(i + 1) - scene.timeline.Running(i);
    if (width * pixels_per_position > kLabelHeight) return true;
  }
  return false;
}

void DrawInstructions(const Scene& scene, const Field& field, Svg& svg) {
  constexpr double kWideEnough = 1;  // pixels
  RectLayer layer;
  svg.Open("g", {{"class", "instructions"}});
  svg.Rect(field.Columns(0, scene.timeline.end()), "i0");
  for (const InstructionIndex i : scene.program.instructions().indices()) {
    const Box box = field.Columns(scene.timeline.Running(i), scene.timeline.Reached(i + 1));
    if (box.width >= kWideEnough) layer.Add(box, i.number() % 2 == 0 ? "i0" : "i1", i.number());
  }
  layer.Draw(
      kTooltipBytes,
      [&](size_t id) {
        const InstructionIndex i(id);
        const v1::Instruction& proto = scene.program.MessageOf(i);
        return absl::StrCat(Place(scene, i), ", ", Shorten(proto.opcode(), Names::kMaxName), "\n",
                            Repeated(scene, i, scene.trace.steps[i].cycles), "\n",
                            Shorten(proto.op_name(), 2 * Names::kMaxName));
      },
      svg);
  for (const InstructionIndex i : scene.program.instructions().indices()) {
    const Box box = field.Columns(scene.timeline.Running(i), scene.timeline.Reached(i + 1));
    const std::string name = scene.names.Instruction(i);
    const double x = box.x + box.width / 2;
    const double y = box.y + box.height / 2;
    if (kCharacterWidth * static_cast<double>(name.size()) < box.width) {
      svg.Text(x, y + kBelowMiddle, name, "l", Anchor::kMiddle);
    } else if (box.width > kLabelHeight && box.height > kStandingNameHeight) {
      svg.VerticalText(x + kBelowMiddle, y, Abridge(name, kLongestStandingName), "l");
    }
  }
  svg.Close();
}

}  // namespace mallocmuzero::view
