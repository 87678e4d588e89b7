// The dependencies between instructions of the entry computation, which every order must keep.

#ifndef MALLOCMUZERO_BENCH_REORDER_DEPENDENCY_GRAPH_H_
#define MALLOCMUZERO_BENCH_REORDER_DEPENDENCY_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "simulator/hlo/module.h"
#include "simulator/import/analyzed_module.h"

namespace mallocmuzero::reorder {

// The numbers of all units, each once, in the order in which they run.
using Order = std::vector<int32_t>;

// A unit is an instruction of the entry computation that does more than forward the results of
// others. A `while`, `call` or `conditional` is one unit together with all that it runs. Units are
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

// Finds these dependencies:
//   - A unit runs after its control predecessors and after the producers of its operands, through
//     all instructions that only forward results.
//   - A unit that changes a buffer in place runs after all readers of the old value and before all
//     readers of the new one. Such changes are dynamic-update-slice and the like, the values that a
//     loop carries, and results that take over the buffer of a parameter.
//   - Units that have side effects, run asynchronously or talk to other chips keep the order of the
//     module among themselves.
//   - The root runs last.
DependencyGraph FindDependencies(const AnalyzedModule& analyzed);

// The place of each unit in `order`.
std::vector<int32_t> Places(absl::Span<const int32_t> order);

// Whether `order` is a permutation of the units that keeps all dependencies.
bool IsLegal(const DependencyGraph& graph, absl::Span<const int32_t> order);

// The share of all other places that a unit can move to while the others stay, as the mean over the
// units that take time. It is 0 if every unit is where it must be, and 1 if nothing depends on
// anything.
double MeanMobility(const DependencyGraph& graph);

// All instructions of the entry computation in a legal order that has the units as in `order`. An
// instruction that only forwards comes as soon as its operands are there.
std::vector<hlo::InstructionIndex> EntryOrder(const hlo::Computation& entry,
                                              const DependencyGraph& graph,
                                              absl::Span<const int32_t> order);

}  // namespace mallocmuzero::reorder

#endif  // MALLOCMUZERO_BENCH_REORDER_DEPENDENCY_GRAPH_H_
