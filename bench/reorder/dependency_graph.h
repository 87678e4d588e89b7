// The dependencies between instructions of the entry computation, which every order must keep.

#ifndef MALLOCMUZERO_BENCH_REORDER_DEPENDENCY_GRAPH_H_
#define MALLOCMUZERO_BENCH_REORDER_DEPENDENCY_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "base/size32.h"
#include "simulator/core/indices.h"
#include "simulator/hlo/module.h"
#include "simulator/import/analysis/analyzed_module.h"

namespace mallocmuzero::reorder {

// The numbers of all units, each exactly once, in the order in which they run.
using Order = std::vector<int32_t>;

// A unit is an instruction of the entry computation that does more than forward the results of
// others. A `while`, `call` or `conditional` forms one unit with everything that it runs. Units are
// numbered in the order of the module.
struct DependencyGraph {
  struct Unit {
    hlo::InstructionIndex instruction = 0;  // in the entry computation
    // Its steps in AnalyzedModule::priced, and therefore in Program::instructions: [first, end).
    InstructionIndex first_priced = 0;
    InstructionIndex end_priced = 0;
    // Units that must run before it and after it, ascending. Units that are implied by others may
    // be missing.
    std::vector<int32_t> predecessors;
    std::vector<int32_t> successors;
  };
  std::vector<Unit> units;

  int32_t size() const { return Size32(units); }
};

// Finds these dependencies:
//   - A unit runs after its control predecessors and after the producers of its operands;
//     instructions that only forward results are followed.
//   - A unit that changes a buffer in place runs after all readers of the old value and before all
//     readers of the new one. Such changes are dynamic-update-slice and the like, the values that a
//     loop carries, and results that take over the buffer of a parameter.
//   - Units that have side effects, run asynchronously or communicate with other chips keep the
//     order of the module among each other.
//   - The root runs last.
DependencyGraph FindDependencies(const AnalyzedModule& analyzed);

// For each unit its position in `order`.
std::vector<int32_t> Places(absl::Span<const int32_t> order);

// True if `order` is a permutation of the units that keeps all dependencies.
bool IsLegal(const DependencyGraph& graph, absl::Span<const int32_t> order);

// The mean share of all other positions to which a unit can move while all other units stay, over
// the units that take time. It is 0 if no unit can move, and 1 if there are no dependencies.
double MeanMobility(const DependencyGraph& graph);

// All instructions of the entry computation in a legal order in which the units are as in `order`.
// An instruction that only forwards comes as soon as its operands are there.
std::vector<hlo::InstructionIndex> EntryOrder(const hlo::Computation& entry,
                                              const DependencyGraph& graph,
                                              absl::Span<const int32_t> order);

}  // namespace mallocmuzero::reorder

#endif  // MALLOCMUZERO_BENCH_REORDER_DEPENDENCY_GRAPH_H_
