#include "view/memory_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/enums.h"
#include "base/rounding.h"
#include "base/utf8.h"
#include "view/format.h"
#include "view/lanes.h"
#include "view/rect_layer.h"

namespace mallocmuzero::view {
namespace {

constexpr size_t kTooltipBytes = 250'000;
constexpr size_t kMostLabels = 400;
constexpr double kLabelHeight = 10;      // pixels
constexpr double kCharacterWidth = 5.5;  // of a label
constexpr double kLabelMargin = 4;
constexpr size_t kShortestName = 9;  // shorter names say nothing
constexpr double kColumn = 0.5;      // width of a column of the outline, pixels
constexpr double kOutlined = 3;      // a smaller rectangle would consist of its outline, pixels

class MemoryPlot {
 public:
  MemoryPlot(const Scene& scene, const Field& field, Svg& svg)
      : scene_(scene), field_(field), svg_(svg) {}

  void Draw() {
    svg_.Open("g", {{"class", "memory"}});
    RectLayer layer;
    std::vector<Box> prefetched;
    for (size_t k = 0; k < scene_.mapping.intervals.size(); ++k) {
      const Interval& interval = scene_.mapping.intervals[k];
      const Stay stay = StayOf(interval, scene_.timeline);
      const Box box = BoxOf(stay.owned, interval);
      std::vector<Box> hatched;
      for (const Timeline::Span& span : stay.copying) hatched.push_back(BoxOf(span, interval));
      const bool outlined = box.width > kOutlined && box.height > kOutlined;
      layer.Add(box, KindStyle(scene_.names.Kind(interval.buffer), outlined), k, hatched);
      if (interval.cross_program_prefetch) prefetched.push_back(box);
    }
    layer.Draw(
        kTooltipBytes, [this](size_t k) { return Tooltip(k); }, svg_);
    svg_.Rects(prefetched, "xpp");
    DrawLabels();
    svg_.Close();
  }

 private:
  double Y(double address) const {
    const double capacity = static_cast<double>(scene_.program.hardware().fast_memory_bytes());
    return field_.box.bottom() - field_.box.height * std::clamp(address / capacity, 0.0, 1.0);
  }

  Box BoxOf(const Timeline::Span& span, const Interval& interval) const {
    Box box = field_.Columns(span.begin, span.end);
    const double bytes = static_cast<double>(scene_.program.buffers()[interval.buffer].bytes);
    const double offset = static_cast<double>(interval.offset);
    box.y = Y(offset + bytes);
    box.height = Y(offset) - box.y;
    return box;
  }

  // Draws names where they fit, across or upwards; else shortened names; else sizes. The largest
  // rectangles come first.
  void DrawLabels() {
    struct Label {
      Box box;
      BufferIndex buffer;
    };
    std::vector<Label> labels;
    for (const Interval& interval : scene_.mapping.intervals) {
      const Box box = BoxOf(StayOf(interval, scene_.timeline).owned, interval);
      if (std::min(box.width, box.height) > kLabelHeight) labels.push_back({box, interval.buffer});
    }
    std::stable_sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
      return a.box.width * a.box.height > b.box.width * b.box.height;
    });
    labels.resize(std::min(labels.size(), kMostLabels));
    for (const auto& [box, buffer] : labels) {
      const std::string bytes =
          FormatBytes(static_cast<double>(scene_.program.buffers()[buffer].bytes));
      const std::string name = scene_.names.Tensor(buffer);
      const double longest = (std::max(box.width, box.height) - kLabelMargin) / kCharacterWidth;
      const std::string abridged =
          Abridge(name, std::max<int64_t>(kShortestName, RoundToZero(longest)));
      for (const std::string& text : {absl::StrCat(name, " ", bytes), name, abridged, bytes}) {
        if (DrawLabel(box, text)) break;
      }
    }
  }

  bool DrawLabel(const Box& box, const std::string& text) {
    const double length = kCharacterWidth * static_cast<double>(text.size()) + kLabelMargin;
    const double x = box.x + box.width / 2;
    const double y = box.y + box.height / 2;
    constexpr double kBelowMiddle = 3;  // distance of the base line from the middle, pixels
    if (length <= box.width) {
      svg_.Text(x, y + kBelowMiddle, text, "l", Anchor::kMiddle);
    } else if (length <= box.height) {
      svg_.VerticalText(x + kBelowMiddle, y, text, "l");
    } else {
      return false;
    }
    return true;
  }

  std::string Tooltip(size_t k) const {
    const Interval& interval = scene_.mapping.intervals[k];
    const Names& names = scene_.names;
    std::string text = absl::StrCat(
        names.Tensor(interval.buffer), " ", names.Shape(interval.buffer), ", ",
        FormatBytes(static_cast<double>(scene_.program.buffers()[interval.buffer].bytes)), ", ",
        BufferKindName(names.Kind(interval.buffer)), "\nin fast memory from ",
        Place(scene_, interval.first), " to ", Place(scene_, interval.last), ", ", Uses(interval));
    if (interval.cross_program_prefetch) {
      absl::StrAppend(&text, "\ncross-program prefetch: there when the program starts");
    } else if (interval.copy_in_start >= 0) {
      absl::StrAppend(&text, "\ncopied in from before ", Place(scene_, interval.copy_in_start),
                      " until before ", Place(scene_, interval.copy_in_done));
    }
    if (interval.copy_out_start >= 0) {
      absl::StrAppend(&text, "\ncopied out from before ", Place(scene_, interval.copy_out_start),
                      " until before ", Place(scene_, interval.copy_out_done));
    }
    return text;
  }

  // Text such as "2 reads, 1 write", for the accesses that the interval serves.
  std::string Uses(const Interval& interval) const {
    EnumArray<AccessKind, int, kAccessKindCount> counts;
    for (const AccessIndex a : scene_.program.AccessesOfBuffer(interval.buffer)) {
      const Access& access = scene_.program.accesses()[a];
      if (scene_.mapping.in_fast_memory[a] != 0 && interval.first <= access.instruction &&
          access.instruction <= interval.last) {
        ++counts[access.kind];
      }
    }
    std::string text;
    const auto append = [&](AccessKind kind, const char* noun) {
      const int count = counts[kind];
      if (count == 0) return;
      absl::StrAppend(&text, text.empty() ? "" : ", ", FormatCounted(count, noun));
    };
    append(AccessKind::kRead, "read");
    append(AccessKind::kWrite, "write");
    append(AccessKind::kUpdate, "update");
    return text.empty() ? "not used" : text;
  }

  const Scene& scene_;
  const Field& field_;
  Svg& svg_;
};

}  // namespace

void DrawOccupancy(const Scene& scene, const Field& field, Svg& svg) {
  // The change of the bytes in use at a position, for each kind of buffer.
  struct Change {
    double position;
    size_t kind;
    double bytes;
  };
  std::vector<Change> changes;
  for (const Interval& interval : scene.mapping.intervals) {
    const Timeline::Span owned = StayOf(interval, scene.timeline).owned;
    const size_t kind = Underlying(scene.names.Kind(interval.buffer));
    const auto bytes = static_cast<double>(scene.program.buffers()[interval.buffer].bytes);
    changes.push_back({owned.begin, kind, bytes});
    changes.push_back({owned.end, kind, -bytes});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.position < b.position; });
  const double capacity = static_cast<double>(scene.program.hardware().fast_memory_bytes());
  const std::string base = Coordinate(field.box.bottom());
  const auto column = [&field](const Change& change) {
    return std::floor(field.X(change.position) / kColumn);
  };
  // Draws each kind together with all kinds below it, from the highest outline down.
  for (int top = kBufferKindCount - 1; top >= 0; --top) {
    double bytes = 0;
    std::string data = absl::StrCat("M", Coordinate(field.box.x), " ", base);
    for (size_t k = 0; k < changes.size(); ++k) {
      if (changes[k].kind <= top) bytes += changes[k].bytes;
      // The outline has one step in each column of the page.
      if (k + 1 < changes.size() && column(changes[k]) == column(changes[k + 1])) continue;
      const double share = std::clamp(bytes / capacity, 0.0, 1.0);
      absl::StrAppend(&data, "H", Coordinate(field.X(changes[k].position)), "V",
                      Coordinate(field.box.bottom() - field.box.height * share));
    }
    svg.Path(absl::StrCat(data, "V", base, "z"), KindStyle(static_cast<BufferKind>(top), false));
  }
}

void DrawMemory(const Scene& scene, const Field& field, Svg& svg) {
  MemoryPlot(scene, field, svg).Draw();
}

}  // namespace mallocmuzero::view
