// The price of a program under a mapping.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_SIMULATE_H_
#define MALLOCMUZERO_SIMULATOR_CORE_SIMULATE_H_

#include <cstdint>

#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// Cycles of one run of the program. total = estimated + modelled + stall, summed in that order.
struct Price {
  double total_cycles = 0;
  double estimated_cycles = 0;  // instructions with a compiler's estimate, times executions
  double modelled_cycles = 0;   // instructions without one, times executions
  double stall_cycles = 0;      // waiting for copies, times executions
  uint32_t copies = 0;          // in and out; a sliced one is one, cross-program prefetch none
};

// Bytes accessed in one run of the program, times executions; copies are not counted.
struct Traffic {
  double bytes_accessed = 0;
  double hbm_bytes = 0;  // of them from or to HBM
};

// Prices a mapping, valid or not; its indices must lie in the program (MappingFromProto). For each
// instruction i in order:
//   1. wait for the copies with copy_in_done == i or copy_out_done == i that were queued earlier;
//   2. queue the copies with copy_in_start == i or copy_out_start == i, of a sliced copy the slices
//      with start == i: what is needed first goes first, then in the order of the intervals;
//   3. wait for those that were just queued and are needed at i; the stalls count
//      execution_count(i) times;
//   4. L = latency for the accesses in fast memory, counts execution_count(i) times; the copies
//   move
//      IdleBytes(...) once, however often i runs.
// At the end: wait for the copies with copy_out_done == instruction_count, once. A cross-program
// prefetch neither moves nor stalls (docs/cost-model.md).
Price Simulate(const Program& program, const Mapping& mapping);

// The price of AllHbmMapping.
Price SimulateAllHbm(const Program& program);

// Cycles with every access in fast memory that is not pinned to HBM, and no copy.
double AllFastCycles(const Program& program);

// Traffic under a mapping.
Traffic MeasureTraffic(const Program& program, const Mapping& mapping);

// HBM bandwidth one execution of `instruction` leaves to copies, bytes:
// max(0, cycles x hbm_bytes_per_cycle - fixed HBM bytes - bytes accessed by accesses not in
// `fast_mask`).
double IdleBytes(const Program& program, uint32_t instruction, uint64_t fast_mask, double cycles);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_SIMULATE_H_
