// The order in which a scheduled module executes, as one flat list of steps.
//
// Bodies and conditions of `while`, branches of `conditional` and targets of `call` are inlined
// once at the place of the call, as in XLA's HloLiveRange::FlattenSchedule
// (xla/hlo/utils/hlo_live_range.cc). A loop is enclosed by two markers:
//
//   ... | loop begin | body ... | condition ... | loop end (the `while` itself) | ...

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_SCHEDULE_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "simulator/hlo/module.h"

namespace mallocmuzero {

// One inlined copy of a computation. A computation called from two places has two instances.
struct ComputationInstance {
  hlo::ComputationIndex computation = 0;
  int64_t execution_count = 1;  // product of the trip counts of the loops around it
  int32_t loop = -1;            // innermost enclosing loop, index into Schedule::loops; -1: none
};

// One step of the flat order.
struct Step {
  enum class Kind : uint8_t { kInstruction, kLoopBegin, kLoopEnd };

  Kind kind = Kind::kInstruction;
  int32_t instance = 0;  // index into Schedule::instances
  // Index within the instance's computation. A marker has the index of the `while`.
  hlo::InstructionIndex instruction = 0;
};

// A `while`. Instances, steps and loops are indices into the vectors of Schedule.
struct ScheduledLoop {
  int32_t instance = 0;  // the instance that contains the `while`
  hlo::InstructionIndex instruction = 0;
  int32_t body = 0;       // instance
  int32_t condition = 0;  // instance
  int32_t begin = 0;      // step
  int32_t end = 0;        // step
  int64_t trip_count = 0;
  bool trip_count_known = false;
  int32_t parent = -1;  // enclosing loop
};

// A `conditional` or `call` and the instances that it may run.
struct ScheduledCall {
  int32_t instance = 0;
  hlo::InstructionIndex instruction = 0;
  std::vector<int32_t> callees;  // instances: the branches in order, or the one target
};

// The flat order of a module.
struct Schedule {
  const hlo::Module* module = nullptr;         // not owned
  std::vector<ComputationInstance> instances;  // instance 0 is the entry computation
  std::vector<Step> steps;
  std::vector<ScheduledLoop> loops;
  std::vector<ScheduledCall> calls;

  // The computation that an instance is a copy of.
  const hlo::Computation& ComputationOf(int32_t instance) const {
    return module->computations[instances[instance].computation];
  }
  // The instruction of a step; for a loop marker, the `while`.
  const hlo::Instruction& InstructionAt(const Step& step) const {
    return ComputationOf(step.instance).instructions[step.instruction];
  }
};

// The trip count that XLA's cost model assumes for a loop whose passes it cannot count
// (xla_tpu_memory_space_assignment_while_execution_count).
inline constexpr int64_t kAssumedTripCount = 5;

// Flattens `module`, which must outlive the result. `file_name` is used in messages.
// InvalidArgument "FILE:LINE:1: ..." in these cases:
//   - The module is not scheduled.
//   - A loop, a conditional or a call lacks its computations or its operand, or they nest more than
//     kMaxLoopDepth deep.
//   - The schedule would have more than 4 million steps, or more than 16 million arrays in the
//     operands and results of all steps.
//   - The fusions have more than 16 million arrays and operands, each as often as it is called.
//   - A number is larger than a program may have: 2^50 bytes of an array, 2^53 estimated cycles of
//     an instruction, 2^53 executions.
absl::StatusOr<Schedule> FlattenSchedule(const hlo::Module& module, absl::string_view file_name);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_ANALYSIS_SCHEDULE_H_
