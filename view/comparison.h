// Compares two mappings of one program: the data from which explain.cc computes gains and
// explain_words.cc makes sentences.

#ifndef MALLOCMUZERO_VIEW_COMPARISON_H_
#define MALLOCMUZERO_VIEW_COMPARISON_H_

#include <cstdint>
#include <vector>

#include "simulator/core/mapping.h"
#include "simulator/core/program.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero::view {

// One of the two mappings. Program and mapping must outlive it.
struct Side {
  Side(const Program& program, const Mapping& the_mapping);

  const Mapping& mapping;
  const Trace trace;
  // for each buffer indices into mapping.intervals, ascending
  IndexVector<BufferIndex, std::vector<size_t>> intervals_of_buffer;
};

// Two mappings of one program with their walks.
struct Comparison {
  const Program& program;
  const Side ours;
  const Side reference;
};

// For each access, the cycles of all executions that `ours` gains by placing it as it does instead
// of as in the reference; 0 if both agree. The sum is the difference of all latencies.
IndexVector<AccessIndex, double> GainsOfAccesses(const Comparison& comparison);

}  // namespace mallocmuzero::view

#endif  // MALLOCMUZERO_VIEW_COMPARISON_H_
