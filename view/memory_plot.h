// The intervals of a mapping in time x address.

#ifndef MALLOCMUZERO_VIEW_MEMORY_PLOT_H_
#define MALLOCMUZERO_VIEW_MEMORY_PLOT_H_

#include "view/scene.h"
#include "view/svg.h"

namespace mallocmuzero::view {

// Draws every interval into `field`, whose top is the end of the fast memory and whose bottom is
// address 0.
void DrawMemory(const Scene& scene, const Field& field, Svg& svg);

// For a mapping whose offsets mean nothing: the bytes that intervals occupy at each time, stacked
// by the kind of their buffers.
void DrawOccupancy(const Scene& scene, const Field& field, Svg& svg);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_MEMORY_PLOT_H_
