// Parts of a program in which the links between chips take longer than the instructions.

#ifndef MALLOCMUZERO_SIMULATOR_BOUND_LINK_SPANS_H_
#define MALLOCMUZERO_SIMULATOR_BOUND_LINK_SPANS_H_

#include <vector>

#include "absl/types/span.h"
#include "simulator/core/program.h"

namespace mallocmuzero::bound {

// Just before `begin` a collective starts, and just before `end` the program waits for it, or for
// one that started later. The links work on one collective after the other, so `cycles` pass
// between under any mapping: those of all collectives from the first to the last. `cycles` are
// those of all executions; all instructions from `begin` to `end` run equally often.
struct LinkSpan {
  InstructionIndex begin = 0;
  InstructionIndex end = 0;
  double cycles = 0;

  friend bool operator==(const LinkSpan&, const LinkSpan&) = default;
};

// Returns disjoint spans, ordered, that make the program as long as possible: the sum of their
// cycles and of the cycles of the instructions outside. `cycles` has those of one execution of each
// instruction. No mapping under which every instruction takes its `cycles` takes less than that
// sum. Empty for a program without asynchronous collectives. Takes time linear in the program's
// length.
std::vector<LinkSpan> FindLinkSpans(const Program& program,
                                    IndexSpan<InstructionIndex, const double> cycles);

// What the bound counts, for each instruction.
struct Counted {
  // Executions; 0 if its cycles do not count.
  IndexVector<InstructionIndex, double> executions;

  // How often the program waits just before it; 0 if such waits do not count, so that copies may
  // wait there for nothing.
  IndexVector<InstructionIndex, double> waits;
};

// What lies outside the spans.
Counted OutsideOf(const Program& program, absl::Span<const LinkSpan> spans);

}  // namespace mallocmuzero::bound

#endif  // MALLOCMUZERO_SIMULATOR_BOUND_LINK_SPANS_H_
