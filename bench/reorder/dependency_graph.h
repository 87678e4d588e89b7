// Which instructions of the entry computation must stay before which others, however it is ordered.

#ifndef MALLOCMUZERO_BENCH_REORDER_DEPENDENCY_GRAPH_H_
#define MALLOCMUZERO_BENCH_REORDER_DEPENDENCY_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "simulator/hlo/module.h"
#include "simulator/import/analyzed_module.h"

namespace mallocmuzero::reorder {

// Unit numbers, first to run first; a permutation of all.
using Order = std::vector<int32_t>;

// A unit is an instruction of the entry computation that is more than a name for what others have
// computed; a `while`, `call` or `conditional` is one unit with all that it runs. Units are
// numbered in the order of the module.
struct DependencyGraph {
  struct Unit {
    hlo::InstructionIndex instruction = 0;  // of the entry computation
    // Its steps in AnalyzedModule::priced, so in Program::instructions: [first, end).
    int32_t first_priced = 0;
    int32_t end_priced = 0;
    // Units that must run before and after it, ascending. Those implied by others may be missing.
    std::vector<int32_t> predecessors;
    std::vector<int32_t> successors;
  };
  std::vector<Unit> units;

  int32_t size() const { return static_cast<int32_t>(units.size()); }
};

// A unit must run
//   - after what computes its operands, through whatever forwards them, and its control
//     predecessors;
//   - if it changes a buffer in place, after all that reads the old value and before all that reads
//     the new one: dynamic-update-slice and the like, what a loop carries, results that take over
//     the buffer of a parameter;
//   - in the order of the module among what has side effects, runs asynchronously or talks to other
//     chips;
//   - last if it is the root.
DependencyGraph FindDependencies(const AnalyzedModule& analyzed);

// By unit, its place in `order`.
std::vector<int32_t> Places(absl::Span<const int32_t> order);

// Whether `order` is a permutation of the units that keeps all dependencies.
bool IsLegal(const DependencyGraph& graph, absl::Span<const int32_t> order);

// Share of all other places that a unit could move to by itself, mean over the units that take
// time: 0 if everything is where it must be, 1 if nothing depends on anything.
double MeanMobility(const DependencyGraph& graph);

// All instructions of the entry computation in a legal order with the units in this one: what only
// forwards comes as soon as its operands are there.
std::vector<hlo::InstructionIndex> EntryOrder(const hlo::Computation& entry,
                                              const DependencyGraph& graph,
                                              absl::Span<const int32_t> order);

}  // namespace mallocmuzero::reorder

#endif  // MALLOCMUZERO_BENCH_REORDER_DEPENDENCY_GRAPH_H_
