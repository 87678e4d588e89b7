// Many rectangles in bounded space: tooltips for the large ones, the small ones drawn together.

#ifndef MALLOCMUZERO_VIEW_RECT_LAYER_H_
#define MALLOCMUZERO_VIEW_RECT_LAYER_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "view/svg.h"

namespace mallocmuzero::view {

// Collects rectangles, then draws them. What is thinner than half a pixel is widened to it, so that
// it can be seen.
class RectLayer {
 public:
  // `style`: a CSS class, a literal. `id` is handed to the function that makes tooltips. `hatched`
  // are parts of `box` drawn over it.
  void Add(const Box& box, const char* style, size_t id, std::vector<Box> hatched = {});

  // Draws all. The largest rectangles are elements of their own with the tooltip of their id, as
  // many as fit into `tooltip_bytes` of SVG. The others, and those flatter than half a pixel, have
  // none: they share one element for each style, and those that lie in one row and touch become one
  // rectangle. So the bytes written are about tooltip_bytes and some 30 a rectangle or hatched
  // part.
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
