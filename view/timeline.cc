#include "view/timeline.h"

#include <algorithm>
#include <cstddef>

#include "base/enums.h"

namespace mallocmuzero::view {

Timeline::Timeline(const Program& program, const Trace& trace, Axis axis) {
  const bool in_cycles = axis == Axis::kCycles;
  double position = 0;
  progress_.push_back({});
  const auto advance = [&](double width, const std::array<double, 2>& moved) {
    position += width;
    progress_.push_back({position, moved});
  };
  for (const InstructionIndex i : trace.steps.indices()) {
    const TraceStep& step = trace.steps[i];
    const bool at_end = !program.instructions().contains(i);
    const double scale = !in_cycles ? 0 : at_end ? 1 : program.instructions()[i].execution_count;
    Marks& marks = marks_.emplace_back();
    marks.reached = position;
    if (step.wait_for_collectives > 0) {
      advance(step.wait_for_collectives * scale, step.moved_after_collectives);
    }
    advance(step.wait_before_queueing * scale, step.moved_before_queueing);
    marks.queueing = position;
    advance(step.wait_after_queueing * scale, step.moved_after_queueing);
    marks.running = position;
    if (at_end) break;
    const double width = in_cycles ? step.cycles * scale : 1;
    // Copies that need fewer bytes than the instruction leaves are done before it ends.
    const double moved =
        step.moved[0] - step.moved_after_queueing[0] + step.moved[1] - step.moved_after_queueing[1];
    const double share = step.idle_bytes > 0 ? std::min(1.0, moved / step.idle_bytes) : 0;
    advance(width * share, step.moved);
    advance(width * (1 - share), step.moved);
  }
}

double Timeline::WhenMoved(CopyDirection direction, double bytes) const {
  const size_t queue = Underlying(direction);
  const auto after = std::lower_bound(
      progress_.begin(), progress_.end(), bytes,
      [queue](const Progress& progress, double value) { return progress.moved[queue] < value; });
  if (after == progress_.begin()) return 0;
  if (after == progress_.end()) return end();
  const auto before = after - 1;
  const double share =
      (bytes - before->moved[queue]) / (after->moved[queue] - before->moved[queue]);
  return before->position + share * (after->position - before->position);
}

Timeline::Span Timeline::Moving(const TraceCopy& copy) const {
  // Sums of shared halves may miss the end of a copy by a rounding error.
  const double slack = 1e-9 * copy.end;
  const double begin = std::max(Queueing(copy.queued_at), WhenMoved(copy.direction, copy.begin));
  return {begin, std::max(begin, WhenMoved(copy.direction, copy.end - slack))};
}

}  // namespace mallocmuzero::view
