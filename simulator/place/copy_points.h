// The intervals of a mapping, indexed by the instructions at which they begin, are copied and end.

#ifndef MALLOCMUZERO_SIMULATOR_PLACE_COPY_POINTS_H_
#define MALLOCMUZERO_SIMULATOR_PLACE_COPY_POINTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::place {

// The start or the end of one copy.
struct CopyEvent {
  enum class Kind : uint8_t { kStartIn, kStartOut, kDoneIn, kDoneOut };

  Kind kind;
  uint32_t interval;  // index into Mapping::intervals
};

// Finds the copies and intervals at a point of the program. Immutable.
class CopyPoints {
 public:
  // `program` and `mapping` must outlive the points.
  CopyPoints(const Program& program, const Mapping& mapping);

  // The copy events just before instruction `point`, or after the last one if `point` is the number
  // of instructions. They are in the order of Simulate: waits for copies queued earlier, then
  // starts of copies, the one that is needed first in front, then waits for copies that were just
  // started. A cross-program prefetch is not among them.
  absl::Span<const CopyEvent> At(InstructionIndex point) const { return events_[point]; }

  // Index of the interval that has the cross-program prefetch, or -1.
  int32_t cross_program_prefetch() const { return cross_program_prefetch_; }

  // True if an interval of the buffer contains the instruction.
  bool Contains(BufferIndex buffer, InstructionIndex instruction) const;

  // The memories in which a buffer from before instruction `begin` is needed by the instructions
  // after `begin`, up to and including `end`.
  struct Needs {
    bool hbm = false;
    bool fast = false;
  };
  Needs NeedsInside(BufferIndex buffer, InstructionIndex begin, InstructionIndex end) const;

 private:
  void AddStarts();

  const Program& program_;
  const Mapping& mapping_;
  IndexVector<InstructionIndex, std::vector<CopyEvent>> events_;
  IndexVector<BufferIndex, std::vector<uint32_t>> intervals_of_;
  int32_t cross_program_prefetch_ = -1;
};

}  // namespace mallocmuzero::place

#endif  // MALLOCMUZERO_SIMULATOR_PLACE_COPY_POINTS_H_
