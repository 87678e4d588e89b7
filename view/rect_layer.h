// Draws many rectangles in bounded space: large ones have tooltips, small ones are drawn together.

#ifndef MALLOCMUZERO_VIEW_RECT_LAYER_H_
#define MALLOCMUZERO_VIEW_RECT_LAYER_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "view/svg.h"

namespace mallocmuzero::view {

// Collects rectangles, then draws them. A rectangle thinner than half a pixel is widened to half a
// pixel, so that it is visible.
class RectLayer {
 public:
  // `style` is a CSS class and must be a literal. `id` is passed to the function that makes
  // tooltips. `hatched` are parts of `box` that are drawn over it.
  void Add(const Box& box, const char* style, size_t id, std::vector<Box> hatched = {});

  // Draws all rectangles. The largest ones become elements with tooltips, as many as fit into
  // `tooltip_bytes` of SVG. The others, and those flatter than half a pixel, have no tooltip: all
  // of one style share an element, and those that touch in one row become one rectangle. The output
  // has about tooltip_bytes, plus some 30 bytes for each rectangle or hatched part.
  void Draw(size_t tooltip_bytes, const std::function<std::string(size_t id)>& tooltip,
            Svg& svg) const;

 private:
  struct Item {
    Box box;
    const char* style;
    size_t id;
    std::vector<Box> hatched;
  };

  std::vector<Item> items_;
};

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_RECT_LAYER_H_
