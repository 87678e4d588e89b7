// The times of a mapping's stays and copies on the axis of a picture, and the use of the HBM
// bandwidth: the data of the lanes that pictures and the dashboard draw.

#ifndef MALLOCMUZERO_VIEW_LANES_H_
#define MALLOCMUZERO_VIEW_LANES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/core/copy_queue.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"
#include "view/timeline.h"

namespace mallocmuzero::view {

// The part of the timeline during which an interval occupies its bytes
// (simulator/validate/validate.h), and the parts of it during which copies are in flight.
struct Stay {
  Timeline::Span owned;
  std::vector<Timeline::Span> copying;
};

Stay StayOf(const Interval& interval, const Timeline& timeline);

// A copy on the timeline, from the time at which it is queued to the time at which it is needed. A
// sliced copy has several pieces that move.
struct CopyBar {
  uint32_t interval = 0;  // index into Mapping::intervals
  Timeline::Span on_its_way;
  std::vector<Timeline::Span> moving;
  double wait_cycles = 0;  // waits for this copy, once
};

// The copies in one direction, in the order in which they are queued.
std::vector<CopyBar> CopiesOf(const Mapping& mapping, const Trace& trace, const Timeline& timeline,
                              CopyDirection direction);

// The number of loops around a loop.
int DepthOf(const Program& program, const Loop& loop);

// Shares of the HBM bandwidth, 0 to 1, together at most 1.
struct BandwidthUse {
  double own = 0;     // of the instruction's own accesses
  double copies = 0;  // of copies
};

// The use of the bandwidth while an instruction runs.
BandwidthUse UseWhileRunning(const TraceStep& step, double hbm_bytes_per_cycle);

// The share of the bandwidth, 0 to 1, that copies use while the program waits for collectives at
// the beginning of `step`. `moved_before` is TraceStep::moved of the step before.
double CopiesDuringCollectives(const std::array<double, 2>& moved_before, const TraceStep& step,
                               double hbm_bytes_per_cycle);

// The mean share during all waits at the beginning of `step`; 0 if there are none. A wait for a
// copy leaves it the whole bandwidth.
double CopiesDuringWait(const std::array<double, 2>& moved_before, const TraceStep& step,
                        double hbm_bytes_per_cycle);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_LANES_H_
