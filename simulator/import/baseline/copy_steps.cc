#include "simulator/import/baseline/copy_steps.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "simulator/import/analysis/dataflow.h"

namespace mallocmuzero {

std::vector<int32_t> DoneOfStarts(const Schedule& schedule) {
  std::vector<int32_t> done_of(schedule.steps.size(), -1);
  absl::flat_hash_map<std::pair<int32_t, hlo::InstructionIndex>, int32_t> start_of;
  for (int32_t s = 0; s < schedule.steps.size(); ++s) {
    const Step& step = schedule.steps[s];
    const hlo::Instruction& instruction = schedule.InstructionAt(step);
    if (IsAsyncStart(instruction.opcode)) start_of[{step.instance, step.instruction}] = s;
    if (!IsAsyncDone(instruction.opcode) || instruction.operands.empty()) continue;
    const auto start = start_of.find({step.instance, instruction.operands[0]});
    if (start == start_of.end()) continue;
    const int32_t begun = start->second;
    done_of[begun] = s;
    // The operand of a done may be an update instead of the start.
    start_of[{step.instance, step.instruction}] = begun;
  }
  return done_of;
}

std::vector<int32_t> StepOfValues(const AnalyzedModule& module) {
  std::vector<int32_t> step_of(module.flow.values().size(), -1);
  for (int32_t s = 0; s < module.schedule.steps.size(); ++s) {
    const Step& step = module.schedule.steps[s];
    for (const ValueId v : module.flow.ValuesOf(step.instance, step.instruction)) {
      const HloValue& value = module.flow.values()[v];
      const bool is_made_here =
          value.instance == step.instance && value.instruction == step.instruction;
      if (is_made_here) step_of[v] = s;
    }
  }
  return step_of;
}

}  // namespace mallocmuzero
