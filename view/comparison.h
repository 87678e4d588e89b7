// Two mappings of one program side by side: what the attribution and the words both look at.

#ifndef MALLOCMUZERO_VIEW_COMPARISON_H_
#define MALLOCMUZERO_VIEW_COMPARISON_H_

#include <cstdint>
#include <vector>

#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero::view {

// One of the two. The program and the mapping must outlive it.
struct Side {
  Side(const Program& program, const Mapping& the_mapping);

  const Mapping& mapping;
  const Trace trace;
  std::vector<std::vector<size_t>> intervals_of_buffer;  // into mapping.intervals, ascending
};

struct Comparison {
  const Program& program;
  const Side ours;
  const Side reference;
};

// What each access gains by being where ours has it rather than the reference, cycles of all
// executions; 0 where both agree. The sum is the difference of all latencies.
std::vector<double> GainsOfAccesses(const Comparison& comparison);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_COMPARISON_H_
