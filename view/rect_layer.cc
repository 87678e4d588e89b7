#include "view/rect_layer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/string_view.h"

namespace mallocmuzero::view {
namespace {

constexpr double kThinnest = 0.5;     // pixels
constexpr double kThinnestHatch = 1;  // smaller hatching is invisible, pixels
constexpr char kHatchStyle[] = "fly";

double Area(const Box& box) { return box.width * box.height; }

// The box, widened to at least kThinnest in each direction, with the same centre.
Box Visible(Box box) {
  const double wider = std::max(0.0, kThinnest - box.width);
  const double higher = std::max(0.0, kThinnest - box.height);
  return {box.x - wider / 2, box.y - higher / 2, box.width + wider, box.height + higher};
}

// Joins touching rectangles of the same row and height.
std::vector<Box> Merged(std::vector<Box> boxes) {
  std::sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) {
    return std::tie(a.y, a.height, a.x) < std::tie(b.y, b.height, b.x);
  });
  std::vector<Box> merged;
  for (const Box& box : boxes) {
    const bool same_row =
        !merged.empty() && merged.back().y == box.y && merged.back().height == box.height;
    if (same_row && box.x <= merged.back().right() + kThinnest) {
      merged.back().width = std::max(merged.back().right(), box.right()) - merged.back().x;
    } else {
      merged.push_back(box);
    }
  }
  return merged;
}

}  // namespace

void RectLayer::Add(const Box& box, const char* style, size_t id, std::vector<Box> hatched) {
  items_.push_back({box, style, id, std::move(hatched)});
}

void RectLayer::Draw(size_t tooltip_bytes, const std::function<std::string(size_t id)>& tooltip,
                     Svg& svg) const {
  std::vector<const Item*> largest_first;
  for (const Item& item : items_) largest_first.push_back(&item);
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [](const Item* a, const Item* b) { return Area(a->box) > Area(b->box); });
  const size_t begin = svg.size();
  std::map<absl::string_view, std::vector<Box>> shared;  // for each style
  std::vector<Box> hatched;
  for (const Item* item : largest_first) {
    Box box = Visible(item->box);
    if (item->box.height < kThinnest) {
      box.y = std::floor(box.y / kThinnest) * kThinnest;
      shared[item->style].push_back(box);
    } else if (svg.size() - begin < tooltip_bytes) {
      svg.Rect(box, item->style, tooltip(item->id));
    } else {
      shared[item->style].push_back(box);
    }
    for (const Box& part : item->hatched) {
      if (std::min(part.width, part.height) >= kThinnestHatch) hatched.push_back(part);
    }
  }
  for (auto& [style, boxes] : shared) svg.Rects(Merged(std::move(boxes)), style);
  svg.Rects(hatched, kHatchStyle);
}

}  // namespace mallocmuzero::view
