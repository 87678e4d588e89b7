// Which decisions make one mapping faster or slower than another, in cycles and in words.

#ifndef MALLOCMUZERO_VIEW_EXPLAIN_H_
#define MALLOCMUZERO_VIEW_EXPLAIN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero::view {

struct Reason {
  enum class Kind : uint8_t {
    kBuffer,  // one buffer whose accesses or copies differ
    kStalls,  // waiting for copies
    kRest,    // all buffers that are not listed
  };

  Kind kind = Kind::kBuffer;

  // What `ours` saves against the reference in one run of the program, cycles; negative: loses.
  double cycles_gained = 0;

  // For kBuffer: its index, first tensor, shape and size, and the instructions that have it in fast
  // memory in one of the mappings and in HBM in the other, ascending.
  uint32_t buffer = 0;
  std::string tensor;
  std::string shape;
  int64_t bytes = 0;
  std::vector<uint32_t> instructions;

  // One line for people, such as "stays in HBM: fusion.12 would take 4,100 cycles more with it in
  // fast memory".
  std::string why;
};

// Why `ours` costs what it costs, compared with `reference`: the `limit` buffers that gain or lose
// most, then the stalls if there are any, then the other buffers in one line if there are any. The
// gains of what is returned add up to the difference of the two totals.
//
// An instruction whose latency differs has accesses that differ. They share the difference: go from
// the reference's placement to ours one access after the other and charge each with the change it
// makes; take the mean over the rotations of the accesses' order and of its reverse. For up to
// three accesses these are all orders, and the shares are Shapley values. A buffer's gain is the
// sum of its accesses' shares, times executions. So a gain belongs to decisions as they are
// combined here; undoing one alone may change more or less. Copies alone gain nothing but shorter
// stalls.
//
// Indices of both mappings must lie in the program (MappingFromProto).
std::vector<Reason> Explain(const Program& program, const Mapping& ours, const Mapping& reference,
                            int limit);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_EXPLAIN_H_
