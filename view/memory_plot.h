// Draws the intervals of a mapping in time x address.

#ifndef MALLOCMUZERO_VIEW_MEMORY_PLOT_H_
#define MALLOCMUZERO_VIEW_MEMORY_PLOT_H_

#include "view/scene.h"
#include "view/svg.h"

namespace mallocmuzero::view {

// Draws every interval. The top of `field` is the end of fast memory, the bottom is address 0.
void DrawMemory(const Scene& scene, const Field& field, Svg& svg);

// Draws, for a mapping whose offsets are meaningless, the bytes that intervals occupy at each time,
// stacked by the kind of buffer.
void DrawOccupancy(const Scene& scene, const Field& field, Svg& svg);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_MEMORY_PLOT_H_
