// XLA's memory space assignment as published, in the terms of the game.

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
//     the accesses of the value save in fast memory, summed over those that save.
//   - A value is served use by use in the order of the schedule (algorithm.cc, AllocateSegment):
//     no copy, if it is in fast memory and room is left up to the use; else a prefetch, after an
//     eviction if HBM has no copy; else the use is in HBM.
//   - A prefetch starts where what runs beside it takes 1.5 times as long as the copy, or as close
//     to that as room allows, but no later than 0.8 times
//     (prefetch_interval_picker.cc, CostAnalysisPrefetchIntervalPicker; the ratios of
//     tools/run_hlo_module and the tests, those of the TPU compiler are not published).
//   - Room is bytes at a time, without addresses: the game chooses those, and may refuse in a
//     crowded memory what had room here. Then it takes the closest legal action.
//   - A value used inside a loop that does not make it stays for the whole loop.
//
// The plan to play, in O(values x uses x schedule) at worst. Values that are not yet served when
// the meter is spent stay in HBM.
Plan XlaLikePlan(const ProgramFacts& facts, BudgetMeter& meter);

// Proposes this plan.
class XlaLikeSolver : public Solver {
 public:
  absl::string_view name() const override { return solver_name::kXlaLike; }
  absl::StatusOr<std::vector<PlayedPlan>> Propose(const ProgramFacts& facts, uint64_t seed,
                                                  BudgetMeter& meter) const override;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_XLA_LIKE_H_
