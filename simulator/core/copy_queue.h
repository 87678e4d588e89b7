// Copies between HBM and fast memory, which run in the background while instructions run.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_COPY_QUEUE_H_
#define MALLOCMUZERO_SIMULATOR_CORE_COPY_QUEUE_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/enums.h"

namespace mallocmuzero {

enum class CopyDirection : uint8_t {
  kIn = 0,   // HBM to fast memory
  kOut = 1,  // fast memory to HBM
};

// Identifies a copy by its queue and by the total bytes that this queue has moved when the copy is
// done. A default ticket stands for an empty copy, which is always finished.
struct CopyTicket {
  double end = 0;  // bytes
  CopyDirection direction = CopyDirection::kIn;
};

// One queue for each direction, first in first out. While both queues are busy, each gets half of
// the HBM bandwidth that instructions leave over; a queue that is busy alone gets all of it (XLA
// memory_space_assignment/simulator.cc, RuntimeSimulator).
//
// A queue moves its copies in order, so a copy is done when the bytes moved reach the `end` of its
// ticket. The whole state is therefore four doubles, the bytes queued and the bytes moved in each
// direction: copy the object to take a snapshot, assign it to go back. Every operation takes
// constant time. Bytes are fractional after sharing; doubles are exact enough for sums up to 2^53
// bytes.
class CopyQueues {
 public:
  // Appends a copy of `bytes` >= 0 to its queue.
  CopyTicket Issue(CopyDirection direction, double bytes) {
    double& queued = queued_[Index(direction)];
    queued += bytes;
    return {queued, direction};
  }

  // Moves up to `idle_bytes` >= 0, the HBM bandwidth that an instruction leaves over. Bandwidth
  // that no copy needs is lost.
  void Advance(double idle_bytes) {
    const double in = Pending(CopyDirection::kIn);
    const double out = Pending(CopyDirection::kOut);
    if (idle_bytes >= in + out) {
      moved_ = queued_;
      return;
    }
    const double shared = std::min(in, out);
    if (idle_bytes <= 2 * shared) {
      moved_[0] += idle_bytes / 2;
      moved_[1] += idle_bytes / 2;
      return;
    }
    const int longer = in < out ? 1 : 0;
    moved_[1 - longer] = queued_[1 - longer];
    moved_[longer] += idle_bytes - shared;
  }

  // Runs both queues at full HBM bandwidth until the copy is done. The copy waits for all copies
  // before it in its queue, and the other queue takes half of the bandwidth while it is busy.
  // Returns the bytes that both queues moved meanwhile, or 0 if the copy was done already. The
  // stall in cycles is this number divided by the bandwidth.
  double WaitFor(const CopyTicket& ticket) {
    const int own = Index(ticket.direction);
    const int other = 1 - own;
    const double needed = ticket.end - moved_[own];
    if (needed <= 0) return 0;
    moved_[own] = ticket.end;
    const double others = queued_[other] - moved_[other];
    if (others > needed) {
      moved_[other] += needed;
      return 2 * needed;
    }
    moved_[other] = queued_[other];
    return needed + others;
  }

  // Bytes moved since the queues were made.
  double Moved(CopyDirection direction) const { return moved_[Index(direction)]; }

  // Bytes queued but not moved yet.
  double Pending(CopyDirection direction) const {
    return queued_[Index(direction)] - moved_[Index(direction)];
  }

  friend bool operator==(const CopyQueues&, const CopyQueues&) = default;

 private:
  static int Index(CopyDirection direction) { return Underlying(direction); }

  std::array<double, 2> queued_ = {0, 0};
  std::array<double, 2> moved_ = {0, 0};
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_COPY_QUEUE_H_
