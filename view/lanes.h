// The lanes below a picture of fast memory, and the brackets of loops above it.

#ifndef MALLOCMUZERO_VIEW_LANES_H_
#define MALLOCMUZERO_VIEW_LANES_H_

#include "simulator/core/copy_queue.h"
#include "view/scene.h"
#include "view/svg.h"

namespace mallocmuzero::view {

// Depth of the innermost loop, 0 without loops.
int LoopDepth(const Program& program);

// One row a depth, outermost first: a bracket over the body with its trip count.
void DrawLoops(const Scene& scene, const Field& field, Svg& svg);

// Where the program waits for copies. The waits are as wide as they take; on an axis of
// instructions they are ticks.
void DrawStalls(const Scene& scene, const Field& field, Svg& svg);

// Pale red columns over `field` where the program waits.
void DrawStallColumns(const Scene& scene, const Field& field, Svg& svg);

// One bar a copy in that direction, in as many rows as there are copies on their way at a time, but
// no more than fit: pale from queued to waited for, solid while it moves.
void DrawCopies(const Scene& scene, CopyDirection direction, const Field& field, Svg& svg);

// Shares of the HBM bandwidth over each instruction and wait: its own accesses from the bottom, the
// copies on top of them, white what is idle.
void DrawBandwidth(const Scene& scene, const Field& field, Svg& svg);

// True if an instruction is wide enough for its name, lying or standing.
bool HasNamedInstruction(const Scene& scene, double pixels_per_position);

// One rectangle an instruction, its name where it fits.
void DrawInstructions(const Scene& scene, const Field& field, Svg& svg);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_LANES_H_
