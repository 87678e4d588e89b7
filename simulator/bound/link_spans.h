// Parts of a program in which the links between chips take longer than the instructions.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_LINK_SPANS_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_LINK_SPANS_H_

#include <vector>

#include "absl/types/span.h"
#include "simulator/core/program.h"

namespace mallocmuzero::bound {

// Just before `begin` a collective starts, and just before `end` the program waits for it, or for
// one that started later. `cycles` are those of all collectives from the first to the last, times
// executions. They pass between `begin` and `end` under any mapping, because the links work on one
// collective after the other. All instructions from `begin` to `end` run equally often.
struct LinkSpan {
  InstructionIndex begin = 0;
  InstructionIndex end = 0;
  double cycles = 0;

  friend bool operator==(const LinkSpan&, const LinkSpan&) = default;
};

// Returns the disjoint spans, in order, for which this sum is largest: the cycles of the spans, and
// those of the instructions outside. `cycles` has the cycles of one execution of each instruction.
// If instructions take at least these cycles, the program takes at least the sum. Returns none for
// a program without asynchronous collectives. Takes time linear in the program's length, apart from
// logarithms.
std::vector<LinkSpan> FindLinkSpans(const Program& program,
                                    IndexSpan<InstructionIndex, const double> cycles);

// The cycles and waits that the bound counts, for each instruction.
struct Counted {
  // Executions; 0 if its cycles do not count.
  IndexVector<InstructionIndex, double> executions;

  // How often the program waits just before it; 0 if such waits do not count, so that copies may
  // wait there for nothing.
  IndexVector<InstructionIndex, double> waits;
};

// Counts the cycles and waits outside the spans.
Counted OutsideOf(const Program& program, absl::Span<const LinkSpan> spans);

}  // namespace mallocmuzero::bound

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_LINK_SPANS_H_
