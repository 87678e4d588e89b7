// Explains which decisions make one mapping faster or slower than another, in cycles and in words.

#ifndef MALLOCMUZERO_VIEW_EXPLAIN_H_
#define MALLOCMUZERO_VIEW_EXPLAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::view {

// One reason for a difference in cycles.
struct Reason {
  enum class Kind : uint8_t {
    kBuffer,  // a buffer whose accesses or copies differ
    kStalls,  // waits for copies and collectives
    kRest,    // all buffers that are not listed
  };

  Kind kind = Kind::kBuffer;

  // Cycles that `ours` saves compared with the reference in one run of the program; negative if it
  // is slower.
  double cycles_gained = 0;

  // Only for kBuffer: its index, first tensor, shape and size in bytes; and, ascending, the
  // instructions that have it in fast memory in one of the mappings and in HBM in the other.
  BufferIndex buffer = 0;
  std::string tensor;
  std::string shape;
  int64_t bytes = 0;
  std::vector<InstructionIndex> instructions;

  // One line for people, such as "stays in HBM: fusion.12 would take 4,100 cycles more with it in
  // fast memory".
  std::string why;
};

// Explains the difference in cycles between `ours` and `reference`. Returns the `limit` buffers
// that gain or lose most, then the stalls if there are any, then all other buffers as one reason if
// there are any. The sum of all gains is the difference of the two totals.
//
// If the latency of an instruction differs, some of its accesses differ, and they share the
// difference. The accesses change from the reference's placement to ours one by one, and each is
// charged with the change of the latency. A share is the mean over the rotations of the accesses'
// order and of its reverse. For up to three accesses these are all orders, and the shares are
// Shapley values. A buffer's gain is the sum of its accesses' shares times executions. A gain
// therefore holds for the decisions in this combination; undoing a single one may change more or
// less. Copies only gain by making stalls shorter.
//
// Indices of both mappings must lie in the program (MappingFromProto checks that).
std::vector<Reason> Explain(const Program& program, const Mapping& ours, const Mapping& reference,
                            int limit);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_EXPLAIN_H_
