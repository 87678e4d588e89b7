// The links between chips while a program runs: asynchronous collectives that they work on, and for
// which the program waits.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_LINKS_H_
#define MALLOCMUZERO_SIMULATOR_CORE_LINKS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "mallocmuzero/v1/program.pb.h"
#include "simulator/core/indices.h"

namespace mallocmuzero {

// A start of a collective, or a wait for its end, just before an instruction.
struct LinkEvent {
  InstructionIndex point = 0;
  double started = 0;  // cycles of a collective that starts; 0 for a wait
  double end = 0;      // cycles that the links have worked in all when the collective is done
};

// The events of checked collectives, in order: by point, and at one point the starts before the
// waits. The links work on one collective after the other, so `end` is a sum over all that start up
// to this one.
std::vector<LinkEvent> LinkEvents(
    const google::protobuf::RepeatedPtrField<v1::Collective>& collectives);

// The progress of the links. Copy the object to take a snapshot. Without collectives every
// operation does nothing.
class Links {
 public:
  // Waits until the links have worked up to `end`, and returns the cycles of the wait.
  double WaitFor(double end) {
    const double wait = std::max(0.0, end - done_);
    done_ += wait;
    return wait;
  }

  // Starts a collective of `cycles`. Returns its end, for WaitFor.
  double Start(double cycles) { return queued_ += cycles; }

  // Lets the links work while the program runs or waits for something else.
  void Advance(double cycles) { done_ = std::min(queued_, done_ + cycles); }

  // Handles the events at `point`, which is after all points before. Returns the cycles that the
  // program waits. `events` must be the same in every call.
  double Reach(InstructionIndex point, absl::Span<const LinkEvent> events) {
    double wait = 0;
    for (; next_ < events.size() && events[next_].point <= point; ++next_) {
      const LinkEvent& event = events[next_];
      if (event.started > 0) {
        Start(event.started);
      } else {
        wait += WaitFor(event.end);
      }
    }
    return wait;
  }

  // Cycles of work left on collectives that have started.
  double Pending() const { return queued_ - done_; }

  friend bool operator==(const Links&, const Links&) = default;

 private:
  uint32_t next_ = 0;  // event
  double queued_ = 0;
  double done_ = 0;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_LINKS_H_
