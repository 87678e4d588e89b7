// Positions of a walk's steps and copies on the axis of a picture.

#ifndef MALLOCMUZERO_VIEW_TIMELINE_H_
#define MALLOCMUZERO_VIEW_TIMELINE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/core/copy_queue.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero::view {

enum class Axis : uint8_t {
  kCycles,        // instructions and waits are as wide as the cycles of all their executions
  kInstructions,  // every instruction has width 1, and waits have width 0
};

// Positions on the axis, from 0. Instruction i may be the number of instructions, which stands for
// the end of the program.
//
//     Reached(i)             Queueing(i)         Running(i)            Reached(i + 1)
//        | waits for            | waits for copies  |  runs, all its       |
//        | collectives and      | queued here       |  executions          |
//        | copies queued        |                   |                      |
//        | earlier              |                   |                      |
class Timeline {
 public:
  Timeline(const Program& program, const Trace& trace, Axis axis);

  double Reached(InstructionIndex i) const { return marks_[i].reached; }
  double Queueing(InstructionIndex i) const { return marks_[i].queueing; }
  double Running(InstructionIndex i) const { return marks_[i].running; }
  double end() const { return marks_.back().running; }

  // The position at which a copy is done that is queued just before `start` and waited for just
  // before `done`.
  double Done(InstructionIndex start, InstructionIndex done) const {
    return start < done ? Queueing(done) : Running(done);
  }

  // The part of the axis during which a copy moves, after the copies before it in its queue. In a
  // loop this is the first pass, drawn as wide as all passes.
  struct Span {
    double begin = 0;
    double end = 0;
  };
  Span Moving(const TraceCopy& copy) const;

 private:
  // A position on the axis, and the bytes that each queue has moved until then.
  struct Progress {
    double position = 0;
    std::array<double, 2> moved = {0, 0};
  };

  // The position at which the queue has moved `bytes` in all.
  double WhenMoved(CopyDirection direction, double bytes) const;

  // The positions of one instruction, or of the end.
  struct Marks {
    double reached = 0;
    double queueing = 0;
    double running = 0;
  };

  IndexVector<InstructionIndex, Marks> marks_;
  std::vector<Progress> progress_;  // ascending
};

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_TIMELINE_H_
