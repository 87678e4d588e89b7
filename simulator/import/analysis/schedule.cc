#include "simulator/import/analysis/schedule.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "base/size32.h"
#include "base/status_macros.h"
#include "simulator/core/field_checks.h"
#include "simulator/core/program_types.h"
#include "simulator/import/analysis/max_looks.h"
#include "simulator/import/analysis/trip_count.h"

namespace mallocmuzero {
namespace {

using field_checks::kMaxBytes;
using field_checks::kMaxExecutions;

constexpr size_t kMaxSteps = 4'000'000;
constexpr int64_t kMaxArrays = 16'000'000;
constexpr int64_t kMaxFused = 16'000'000;
constexpr int64_t kMaxCycles = int64_t{1} << 53;  // exact as a double, like execution counts

// The arrays of a shape. An empty tuple counts as one, because it takes a walk as long.
int64_t ArrayCount(const hlo::Shape& shape) {
  if (shape.tuple_shapes.empty()) return 1;
  int64_t count = 0;
  for (const hlo::Shape& part : shape.tuple_shapes) count += ArrayCount(part);
  return count;
}

class Flattener {
 public:
  Flattener(const hlo::Module& module, absl::string_view file_name)
      : file_name_(file_name), work_of_(module.computations.size(), -1) {
    schedule_.module = &module;
  }

  absl::StatusOr<Schedule> Run() && {
    if (!schedule_.module->is_scheduled) {
      return absl::InvalidArgumentError(
          absl::StrCat(file_name_, ":1:1: expected is_scheduled=true in the module header"));
    }
    const int32_t entry = AddInstance(schedule_.module->entry, 1, -1);
    absl::Status status = Visit(entry, 0);
    if (!status.ok()) return status;
    return std::move(schedule_);
  }

 private:
  int32_t AddInstance(hlo::ComputationIndex computation, int64_t count, int32_t loop) {
    schedule_.instances.push_back({computation, count, loop});
    return Size32(schedule_.instances) - 1;
  }

  absl::Status Error(const hlo::Instruction& at, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_name_, ":", at.line, ":1: %", at.name, ": ", what));
  }

  absl::Status Visit(int32_t instance, int depth) {
    const hlo::Computation& computation = schedule_.ComputationOf(instance);
    MMZ_RETURN_IF_ERROR(CountFused(computation));
    for (int32_t i = 0; i < computation.instructions.size(); ++i) {
      const hlo::Instruction& instruction = computation.instructions[i];
      if (schedule_.steps.size() >= kMaxSteps) {
        return Error(instruction, "expected at most 4 million steps in the flat schedule");
      }
      arrays_ += ArraysOf(instance)[i];
      if (arrays_ > kMaxArrays) {
        return Error(instruction,
                     "expected at most 16 million arrays in operands and results of the flat "
                     "schedule");
      }
      // A call may be that of a loop's body, and a program allows no more loops inside each other.
      if (depth > kMaxLoopDepth) {
        return Error(instruction,
                     absl::StrCat("expected calls nested at most ", kMaxLoopDepth, " deep"));
      }
      MMZ_RETURN_IF_ERROR(CheckSizes(instruction));
      if (instruction.opcode == hlo::Opcode::kWhile) {
        MMZ_RETURN_IF_ERROR(VisitWhile(instance, i, depth));
      } else if (instruction.opcode == hlo::Opcode::kConditional ||
                 instruction.opcode == hlo::Opcode::kCall) {
        MMZ_RETURN_IF_ERROR(VisitCall(instance, i, depth));
      } else {
        schedule_.steps.push_back({Step::Kind::kInstruction, instance, i});
      }
    }
    return absl::OkStatus();
  }

  // Counts what the analysis looks at in the fusions of a computation. It looks once for all
  // inlined copies of the computation, but anew for each of many fusions that call the same.
  absl::Status CountFused(const hlo::Computation& computation) {
    if (!counted_.insert(&computation).second) return absl::OkStatus();
    for (const hlo::Instruction& instruction : computation.instructions) {
      // An analysis has kMaxLooks for the fusion itself and for each operand.
      const int64_t most = int64_t{kMaxLooks} * (1 + std::ssize(instruction.operands));
      fused_ += std::min(most, FusedBy(instruction));
      if (fused_ > kMaxFused) {
        return Error(instruction,
                     "expected at most 16 million arrays and operands in fusions, each as often as "
                     "it is called");
      }
    }
    return absl::OkStatus();
  }

  // The arrays and operands in what a fusion or an asynchronous start calls. Neither this nor
  // WorkOf is more than kMaxFused + 1.
  int64_t FusedBy(const hlo::Instruction& instruction) {
    int64_t work = 0;
    if (instruction.opcode != hlo::Opcode::kFusion &&
        instruction.opcode != hlo::Opcode::kAsyncStart) {
      return work;
    }
    for (const hlo::CalledComputation& called : instruction.called_computations) {
      work = std::min(kMaxFused + 1, work + WorkOf(called.computation));
    }
    return work;
  }

  // Recursion ends, because the parser bounds how deep calls nest.
  int64_t WorkOf(hlo::ComputationIndex index) {
    int64_t& known = work_of_[index];
    if (known >= 0) return known;
    int64_t work = 0;
    for (const hlo::Instruction& instruction : schedule_.module->computations[index].instructions) {
      const int64_t own = ArrayCount(instruction.shape) + std::ssize(instruction.operands);
      work = std::min(kMaxFused + 1, work + own + FusedBy(instruction));
    }
    return known = work;
  }

  // For each instruction of the instance's computation: the number of arrays that the analysis
  // stores for it in each inlined copy. These are the arrays of its result and, unless it only
  // picks one element, of its operands.
  const std::vector<int64_t>& ArraysOf(int32_t instance) {
    const hlo::Computation& computation = schedule_.ComputationOf(instance);
    std::vector<int64_t>& arrays = arrays_of_[&computation];
    if (!arrays.empty()) return arrays;
    std::vector<int64_t> results;
    for (const hlo::Instruction& instruction : computation.instructions) {
      results.push_back(ArrayCount(instruction.shape));
      int64_t count = results.back();
      const bool picks = instruction.opcode == hlo::Opcode::kGetTupleElement;
      if (!picks || instruction.estimated_cycles) {
        for (hlo::InstructionIndex operand : instruction.operands) count += results[operand];
      }
      arrays.push_back(count);
    }
    return arrays;
  }

  // Refuses sizes that cannot be part of a program.
  absl::Status CheckSizes(const hlo::Instruction& instruction) const {
    if (instruction.estimated_cycles.value_or(0) > kMaxCycles) {
      return Error(instruction, absl::StrCat("expected estimated_cycles of at most 2^53, found ",
                                             *instruction.estimated_cycles));
    }
    int64_t most = 0;
    hlo::ForEachLeaf(instruction.shape, [&](absl::Span<const int32_t>, const hlo::Shape& array) {
      most = std::max(most, hlo::ShapeByteSize(array));
    });
    if (most <= kMaxBytes) return absl::OkStatus();
    return Error(instruction, absl::StrCat("expected arrays of at most 2^50 bytes, found ", most));
  }

  absl::Status VisitWhile(int32_t instance, hlo::InstructionIndex index, int depth) {
    const hlo::Instruction& instruction = schedule_.ComputationOf(instance).instructions[index];
    const auto body = instruction.Called(hlo::CallRole::kBody);
    const auto condition = instruction.Called(hlo::CallRole::kCondition);
    if (!body || !condition || instruction.operands.size() != 1) {
      return Error(instruction, "expected one operand, body= and condition= of a while");
    }
    ScheduledLoop loop{.instance = instance, .instruction = index};
    const absl::optional<int64_t> trips =
        TripCount(*schedule_.module, schedule_.ComputationOf(instance), instruction);
    loop.trip_count_known = trips.has_value();
    loop.trip_count = trips.value_or(kAssumedTripCount);
    loop.parent = schedule_.instances[instance].loop;
    const int64_t outer_count = schedule_.instances[instance].execution_count;
    if (loop.trip_count > kMaxExecutions / std::max<int64_t>(outer_count, 1)) {
      return Error(instruction,
                   absl::StrCat("expected at most 2^53 executions in all, found a loop "
                                "of ",
                                loop.trip_count, " passes that is run ", outer_count, " times"));
    }
    const int64_t count = outer_count * loop.trip_count;
    const auto loop_index = Size32(schedule_.loops);
    loop.body = AddInstance(*body, count, loop_index);
    loop.condition = AddInstance(*condition, count, loop_index);
    loop.begin = Size32(schedule_.steps);
    schedule_.steps.push_back({Step::Kind::kLoopBegin, instance, index});
    schedule_.loops.push_back(loop);
    absl::Status status = Visit(loop.body, depth + 1);
    if (status.ok()) status = Visit(loop.condition, depth + 1);
    schedule_.loops[loop_index].end = Size32(schedule_.steps);
    schedule_.steps.push_back({Step::Kind::kLoopEnd, instance, index});
    return status;
  }

  absl::Status VisitCall(int32_t instance, hlo::InstructionIndex index, int depth) {
    const hlo::Instruction& instruction = schedule_.ComputationOf(instance).instructions[index];
    const ComputationInstance caller = schedule_.instances[instance];
    ScheduledCall call{.instance = instance, .instruction = index};
    for (const hlo::CalledComputation& called : instruction.called_computations) {
      call.callees.push_back(AddInstance(called.computation, caller.execution_count, caller.loop));
    }
    const bool is_call = instruction.opcode == hlo::Opcode::kCall;
    if (call.callees.empty() || (is_call && call.callees.size() > 1)) {
      return Error(instruction,
                   absl::StrCat("expected ", is_call ? "one" : "a", " called computation of a ",
                                hlo::OpcodeName(instruction.opcode)));
    }
    for (int32_t callee : call.callees) {
      absl::Status status = Visit(callee, depth + 1);
      if (!status.ok()) return status;
    }
    schedule_.calls.push_back(std::move(call));
    schedule_.steps.push_back({Step::Kind::kInstruction, instance, index});
    return absl::OkStatus();
  }

  absl::string_view file_name_;
  Schedule schedule_;
  int64_t arrays_ = 0;
  int64_t fused_ = 0;
  std::vector<int64_t> work_of_;                          // for each computation; -1: not known yet
  absl::flat_hash_set<const hlo::Computation*> counted_;  // by CountFused
  absl::flat_hash_map<const hlo::Computation*, std::vector<int64_t>> arrays_of_;
};

}  // namespace

absl::StatusOr<Schedule> FlattenSchedule(const hlo::Module& module, absl::string_view file_name) {
  return Flattener(module, file_name).Run();
}

}  // namespace mallocmuzero
