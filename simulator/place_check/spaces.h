// Shapes of the placed module: moves, what passes values on, calls, fusions, and which spaces may
// be given at all.

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

// Reports starts and dones that are no pair: kCopyPair.
void CheckMovePairs(const Graph& placed, Report& report);

// Reports kCrossProgramPrefetch.
void CheckCrossProgramPrefetches(const Graph& placed, Report& report);

}  // namespace mallocmuzero::place_check

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_CHECK_SPACES_H_
