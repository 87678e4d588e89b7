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
  double estimated_cycles = 0;  // of instructions with a compiler's estimate, times executions
  double modelled_cycles = 0;   // of instructions without one, times executions
  double stall_cycles = 0;      // waiting for copies and collectives, times executions
  double collective_stall_cycles = 0;  // the part of them for asynchronous collectives
  // in and out; a sliced copy counts once, a cross-program prefetch does not count
  uint32_t copies = 0;
};

// Bytes that instructions access in one run of the program, times executions. Copies are not
// counted.
struct Traffic {
  double bytes_accessed = 0;
  double hbm_bytes = 0;  // the part of them from or to HBM
};

// One step of the walk that Simulate describes: what happens just before an instruction, and then
// one execution of the instruction.
struct TraceStep {
  double wait_for_collectives = 0;  // cycles of step 0
  double wait_before_queueing = 0;  // cycles of step 1
  double wait_after_queueing = 0;   // cycles of step 3
  double cycles = 0;                // latency of one execution, step 4
  double hbm_bytes = 0;             // traffic of the instruction's own accesses
  double idle_bytes = 0;            // bytes that copies could move meanwhile

  double WaitCycles() const {
    return wait_for_collectives + wait_before_queueing + wait_after_queueing;
  }

  // Bytes that the queues {in, out} have moved since the program began, at the end of step 0, of
  // step 1, of step 3 and of step 4.
  std::array<double, 2> moved_after_collectives = {0, 0};
  std::array<double, 2> moved_before_queueing = {0, 0};
  std::array<double, 2> moved_after_queueing = {0, 0};
  std::array<double, 2> moved = {0, 0};
};

// A copy, or one piece of a sliced one. The copy moves while the total bytes moved by its queue go
// from `begin` to `end`.
struct TraceCopy {
  uint32_t interval = 0;  // index into Mapping::intervals
  CopyDirection direction = CopyDirection::kIn;
  InstructionIndex queued_at = 0;  // the instruction just before which the copy is queued
  double begin = 0;                // bytes
  double end = 0;
  double wait_cycles = 0;  // wait for this copy and those before it in its queue, once
};

// The whole walk of Simulate.
struct Trace {
  Price price;
  // One for each instruction, then one for the waits at the end.
  IndexVector<InstructionIndex, TraceStep> steps;
  std::vector<TraceCopy> copies;  // in the order in which they are queued
};

// Prices a mapping, valid or not; its indices must lie in the program (MappingFromProto checks
// that). For each instruction i in order:
//   0. Start the collectives with start == i, and wait for those with done == i. Copies move
//      meanwhile at the full HBM rate. The wait is a stall, too.
//   1. Wait for the copies with copy_in_done == i or copy_out_done == i that were queued earlier.
//   2. Queue the copies with copy_in_start == i or copy_out_start == i, and of a sliced copy the
//      slices with start == i. A copy that is needed earlier is queued earlier; copies needed at
//      the same time are queued in the order of the intervals.
//   3. Wait for the copies that were just queued and are needed at i. The waits of steps 1 and 3
//      are stalls and count execution_count(i) times.
//   4. Execute i. Its latency for the accesses in fast memory counts execution_count(i) times. The
//      copies move IdleBytes(...) once, however often i runs.
// The links work on collectives during steps 1 to 4.
//
// Steps 0 to 3 happen once more at the end, for i == instruction_count, and their waits count once.
//
// A cross-program prefetch neither moves bytes nor stalls (docs/cost-model.md).
Price Simulate(const Program& program, const Mapping& mapping);

// The same, with every step of the walk. The wait for a sliced copy is stored with its last slice.
Trace SimulateTrace(const Program& program, const Mapping& mapping);

// The price of AllHbmMapping.
Price SimulateAllHbm(const Program& program);

// Cycles of one run without any copy, with every access in fast memory whose buffer is not pinned
// to HBM.
double AllFastCycles(const Program& program);

// The traffic of one run under a mapping.
Traffic MeasureTraffic(const Program& program, const Mapping& mapping);

// The part of it that is of one instruction.
Traffic MeasureTraffic(const Program& program, const Mapping& mapping, InstructionIndex index);

// The bytes that copies can move during one execution of `instruction`: max(0, cycles x
// hbm_bytes_per_cycle - fixed HBM bytes - bytes accessed by accesses not in `fast_mask`).
double IdleBytes(const Program& program, InstructionIndex instruction, uint64_t fast_mask,
                 double cycles);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_SIMULATE_H_
