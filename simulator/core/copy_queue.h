// Copies between HBM and fast memory that run behind the instructions.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_COPY_QUEUE_H_
#define MALLOCMUZERO_SIMULATOR_CORE_COPY_QUEUE_H_

#include <algorithm>
#include <array>
#include <cstdint>

namespace mallocmuzero {

enum class CopyDirection : uint8_t {
  kIn = 0,   // HBM to fast memory
  kOut = 1,  // fast memory to HBM
};

// Names a copy: its queue, and how many bytes that queue has moved in all when the copy is done. A
// default ticket names a copy of nothing, which is always finished.
struct CopyTicket {
  double end = 0;  // bytes
  CopyDirection direction = CopyDirection::kIn;
};

// One queue for each direction, first in first out. While both are busy each gets half of the HBM
// bandwidth that is left over, one alone gets all of it (XLA
// memory_space_assignment/simulator.cc, RuntimeSimulator).
//
// Because a queue moves its copies in order, its state is just the bytes queued and the bytes moved
// so far, and a copy is done when the bytes moved reach its ticket. So the whole state is four
// doubles: copy it to take a snapshot, assign it to go back. Every operation takes constant time.
// Bytes are fractional after sharing; sums up to 2^53 bytes lose nothing that matters.
class CopyQueues {
 public:
  // Appends a copy of `bytes` >= 0.
  CopyTicket Issue(CopyDirection direction, double bytes) {
    double& queued = queued_[Index(direction)];
    queued += bytes;
    return {queued, direction};
  }

  // Moves up to `idle_bytes` >= 0, what an instruction leaves of the HBM bandwidth. What no copy
  // needs is lost.
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

  // Runs both queues at full HBM bandwidth until the copy is done: it waits for all before it in
  // its queue, and the other queue takes its half. Returns the bytes both moved meanwhile; divided
  // by the bandwidth, they are the stall. 0 if the copy is done already.
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

  bool Finished(const CopyTicket& ticket) const {
    return moved_[Index(ticket.direction)] >= ticket.end;
  }

  // Bytes moved since the beginning.
  double Moved(CopyDirection direction) const { return moved_[Index(direction)]; }

  // Bytes queued and not moved yet.
  double Pending(CopyDirection direction) const {
    return queued_[Index(direction)] - moved_[Index(direction)];
  }

  friend bool operator==(const CopyQueues&, const CopyQueues&) = default;

 private:
  static int Index(CopyDirection direction) { return static_cast<int>(direction); }

  std::array<double, 2> queued_ = {0, 0};
  std::array<double, 2> moved_ = {0, 0};
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_COPY_QUEUE_H_
