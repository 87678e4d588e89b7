// The published heuristic of XLA's memory space assignment, in the terms of the game.

#ifndef MALLOCMUZERO_ENV_SOLVERS_XLA_LIKE_H_
#define MALLOCMUZERO_ENV_SOLVERS_XLA_LIKE_H_

#include <cstdint>
#include <vector>

#include "env/solvers/plan.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/solver.h"

namespace mallocmuzero {

// Files of xla/service/memory_space_assignment/ of openxla/xla:
//   - Values are served one after the other by benefit / sqrt(size), largest first
//     (cost_analysis.cc, GetMemoryBoundedness; buffer_interval_comparator.cc). The benefit is what
//     the accesses of the value save in fast memory; accesses that lose there do not count.
//   - A value is served use by use in the order of the schedule (algorithm.cc, AllocateSegment).
//     The use needs no copy if the value is in fast memory and room is left up to the use.
//     Otherwise the value is prefetched, after an eviction if HBM does not have it. If that is
//     impossible, the use is in HBM.
//   - The instructions beside a prefetch should take 1.5 times as long as the copy. The prefetch
//     starts as close to that point as room allows, and takes no overlap below 0.8 times
//     (prefetch_interval_picker.cc, CostAnalysisPrefetchIntervalPicker). The ratios are those of
//     tools/run_hlo_module and the tests; those of the TPU compiler are not published.
//   - Room is counted in bytes, without addresses. The game chooses addresses, and in a crowded
//     memory it may refuse a value that had room here. The plan then takes the closest legal
//     action.
//   - A value that a loop uses and does not make stays for the whole loop.
//
// The plan to play, in O(values x uses x schedule) at worst. Values that are not yet served when
// the meter is spent stay in HBM.
Plan XlaLikePlan(const ProgramFacts& facts, BudgetMeter& meter);

// Proposes this plan, or nothing if the meter is spent before its game ends.
class XlaLikeSolver : public Solver {
 public:
  absl::string_view name() const override { return solver_name::kXlaLike; }
  absl::StatusOr<std::vector<PlayedPlan>> Propose(const ProgramFacts& facts, uint64_t seed,
                                                  BudgetMeter& meter) const override;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_XLA_LIKE_H_
