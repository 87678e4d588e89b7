// Draws what happens while a program runs: waits, copies, bandwidth and instructions as lanes below
// the picture of fast memory, and loops as brackets above it.

#ifndef MALLOCMUZERO_VIEW_EXECUTION_PLOT_H_
#define MALLOCMUZERO_VIEW_EXECUTION_PLOT_H_

#include "simulator/core/copy_queue.h"
#include "view/scene.h"
#include "view/svg.h"

namespace mallocmuzero::view {

// Depth of the innermost loop; 0 if there are no loops.
int LoopDepth(const Program& program);

// Draws a bracket with the trip count over the body of each loop. Each depth has a row; the
// outermost loops are on top.
void DrawLoops(const Scene& scene, const Field& field, Svg& svg);

// Draws where the program waits for copies and collectives. On an axis of cycles, a wait is as wide
// as it takes; on an axis of instructions, it is a tick.
void DrawStalls(const Scene& scene, const Field& field, Svg& svg);

// Draws pale red columns over `field` where the program waits.
void DrawStallColumns(const Scene& scene, const Field& field, Svg& svg);

// Draws one bar for each copy in that direction. There are as many rows as copies in flight at the
// same time, but at most as many as fit. A bar is pale from queueing to waiting, and solid while
// the copy moves.
void DrawCopies(const Scene& scene, CopyDirection direction, const Field& field, Svg& svg);

// Draws shares of the HBM bandwidth over each instruction and each wait: at the bottom those of the
// instruction's own accesses, on top of them those of copies. Idle bandwidth is white.
void DrawBandwidth(const Scene& scene, const Field& field, Svg& svg);

// True if some instruction is wide enough for its name, written across or upwards.
bool HasNamedInstruction(const Scene& scene, double pixels_per_position);

// Draws one rectangle for each instruction, with its name if it fits.
void DrawInstructions(const Scene& scene, const Field& field, Svg& svg);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_EXECUTION_PLOT_H_
