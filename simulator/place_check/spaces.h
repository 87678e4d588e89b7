// Checks the shapes of the placed module: those of moves, forwarding instructions, calls and
// fusions, and which memory spaces are allowed.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_CHECK_SPACES_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_CHECK_SPACES_H_

#include "simulator/place_check/graph.h"
#include "simulator/place_check/match.h"
#include "simulator/place_check/report.h"

namespace mallocmuzero::place_check {

// Reports shapes that do not agree with each other: kCopyShape, kForwardedShape, kCallShape,
// kStatedShape.
void CheckShapes(const Graph& original, const Graph& placed, const Match& match, Report& report);

// Reports spaces that no kept instruction, parameter or result may have: kSpace, kEntrySpace,
// kFusedSpace.
void CheckSpaces(const Graph& original, const Graph& placed, const Match& match, int64_t fast_space,
                 Report& report);

// Reports starts and dones that do not form pairs: kCopyPair.
void CheckMovePairs(const Graph& placed, Report& report);

// Reports cross-program prefetches that break kCrossProgramPrefetch.
void CheckCrossProgramPrefetches(const Graph& placed, Report& report);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_SPACES_H_
