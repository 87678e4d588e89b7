// The price of a program under a mapping.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_SIMULATE_H_
#define MALLOCMUZERO_SIMULATOR_CORE_SIMULATE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "simulator/core/copy_queue.h"
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

// One step of the walk that Simulate describes: what happens just before an instruction, then one
// execution of it.
struct TraceStep {
  double wait_before_queueing = 0;  // step 1, cycles
  double wait_after_queueing = 0;   // step 3, cycles
  double cycles = 0;                // step 4, latency
  double hbm_bytes = 0;             // traffic of the instruction's own accesses
  double idle_bytes = 0;            // what it leaves to copies

  // Bytes that the queues {in, out} have moved since the program began, at the end of steps 1, 3
  // and 4.
  std::array<double, 2> moved_before_queueing = {0, 0};
  std::array<double, 2> moved_after_queueing = {0, 0};
  std::array<double, 2> moved = {0, 0};
};

// A copy, or one piece of a sliced one. It moves while the bytes its queue has moved in all go from
// `begin` to `end`.
struct TraceCopy {
  uint32_t interval = 0;  // into Mapping::intervals
  CopyDirection direction = CopyDirection::kIn;
  uint32_t queued_at = 0;  // just before this instruction
  double begin = 0;        // bytes
  double end = 0;
  double wait_cycles = 0;  // of the program, once, for this and what is before it in its queue
};

struct Trace {
  Price price;
  std::vector<TraceStep> steps;   // one an instruction, then what is waited for at the end
  std::vector<TraceCopy> copies;  // in the order in which they are queued
};

// Prices a mapping, valid or not; its indices must lie in the program (MappingFromProto). For each
// instruction i in order:
//   1. wait for the copies with copy_in_done == i or copy_out_done == i that were queued earlier;
//   2. queue the copies with copy_in_start == i or copy_out_start == i, of a sliced copy the slices
//      with start == i: what is needed first goes first, then in the order of the intervals;
//   3. wait for those that were just queued and are needed at i; the stalls count
//      execution_count(i) times;
//   4. L = latency for the accesses in fast memory, counts execution_count(i) times; the copies
//      move IdleBytes(...) once, however often i runs.
// At the end: wait for the copies with copy_out_done == instruction_count, once. A cross-program
// prefetch neither moves nor stalls (docs/cost-model.md).
Price Simulate(const Program& program, const Mapping& mapping);

// The same with every step of the walk. Of a sliced copy the last slice has the wait.
Trace SimulateTrace(const Program& program, const Mapping& mapping);

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
