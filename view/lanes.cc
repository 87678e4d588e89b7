#include "view/lanes.h"

#include <algorithm>
#include <array>

#include "base/size32.h"

namespace mallocmuzero::view {

Stay StayOf(const Interval& interval, const Timeline& timeline) {
  Stay stay;
  const bool copied_in = interval.copy_in_start >= 0 && !interval.cross_program_prefetch;
  stay.owned.begin = copied_in                         ? timeline.Queueing(interval.first)
                     : interval.cross_program_prefetch ? timeline.Reached(interval.first)
                                                       : timeline.Running(interval.first);
  stay.owned.end = timeline.Reached(interval.last + 1);
  if (copied_in) {
    const InstructionIndex last_start = interval.copy_in_slices.empty()
                                            ? interval.copy_in_start
                                            : interval.copy_in_slices.back().start;
    stay.copying.push_back({timeline.Queueing(interval.copy_in_start),
                            timeline.Done(last_start, interval.copy_in_done)});
  }
  if (interval.copy_out_start >= 0) {
    stay.copying.push_back({timeline.Queueing(interval.copy_out_start),
                            timeline.Done(interval.copy_out_start, interval.copy_out_done)});
    stay.owned.end = std::max(stay.owned.end, stay.copying.back().end);
  }
  return stay;
}

std::vector<CopyBar> CopiesOf(const Mapping& mapping, const Trace& trace, const Timeline& timeline,
                              CopyDirection direction) {
  std::vector<CopyBar> bars;
  std::vector<int> bar_of_interval(mapping.intervals.size(), -1);
  for (const TraceCopy& copy : trace.copies) {
    if (copy.direction != direction) continue;
    int& bar = bar_of_interval[copy.interval];
    const Interval& interval = mapping.intervals[copy.interval];
    const InstructionIndex done =
        direction == CopyDirection::kIn ? interval.copy_in_done : interval.copy_out_done;
    if (bar < 0) {
      bar = Size32(bars);
      bars.push_back({copy.interval, {timeline.Queueing(copy.queued_at), 0}, {}});
    }
    bars[bar].on_its_way.end = timeline.Done(copy.queued_at, done);
    bars[bar].moving.push_back(timeline.Moving(copy));
    bars[bar].wait_cycles += copy.wait_cycles;
  }
  return bars;
}

int DepthOf(const Program& program, const Loop& loop) {
  int depth = 0;
  for (LoopIndex parent = loop.parent; parent >= 0; parent = program.loops()[parent].parent) {
    ++depth;
  }
  return depth;
}

BandwidthUse UseWhileRunning(const TraceStep& step, double hbm_bytes_per_cycle) {
  BandwidthUse use;
  const double bytes = step.cycles * hbm_bytes_per_cycle;
  if (bytes <= 0) return use;
  const std::array<double, 2>& before = step.moved_after_queueing;
  const double moved = step.moved[0] - before[0] + step.moved[1] - before[1];
  use.own = std::min(1.0, step.hbm_bytes / bytes);
  use.copies = std::min(1 - use.own, moved / bytes);
  return use;
}

double CopiesDuringCollectives(const std::array<double, 2>& moved_before, const TraceStep& step,
                               double hbm_bytes_per_cycle) {
  const double bytes = step.wait_for_collectives * hbm_bytes_per_cycle;
  if (bytes <= 0) return 0;
  const std::array<double, 2>& after = step.moved_after_collectives;
  return std::min(1.0, (after[0] - moved_before[0] + after[1] - moved_before[1]) / bytes);
}

double CopiesDuringWait(const std::array<double, 2>& moved_before, const TraceStep& step,
                        double hbm_bytes_per_cycle) {
  const double wait = step.WaitCycles();
  if (wait <= 0) return 0;
  const double collectives = step.wait_for_collectives;
  const double share = CopiesDuringCollectives(moved_before, step, hbm_bytes_per_cycle);
  return (wait - collectives + collectives * share) / wait;
}

}  // namespace mallocmuzero::view
