#include "simulator/import/analyzed_module.h"

#include <utility>

#include "simulator/core/file_io.h"

namespace mallocmuzero {
namespace {

bool CostsSomething(const hlo::Instruction& instruction) {
  if (instruction.estimated_cycles) return true;
  if (instruction.opcode == hlo::Opcode::kTuple) {
    return hlo::TuplePointerBytes(instruction.shape, kTuplePointerBytes) > 0;
  }
  return !IsForwarding(instruction.opcode) && !IsAsyncStart(instruction.opcode) &&
         !IsAsyncDone(instruction.opcode) && !IsConcatBitcast(instruction);
}

void CollectPricedSteps(AnalyzedModule& analyzed) {
  const Schedule& schedule = analyzed.schedule;
  for (int32_t s = 0; s < schedule.steps.size(); ++s) {
    analyzed.priced_at_or_after.push_back(static_cast<int32_t>(analyzed.priced.size()));
    const Step& step = schedule.steps[s];
    const ComputationInstance& instance = schedule.instances[step.instance];
    PricedStep priced{.step = s, .instruction = &schedule.InstructionAt(step)};
    priced.execution_count = instance.execution_count;
    priced.loop = instance.loop;
    if (step.kind == Step::Kind::kInstruction) {
      if (!CostsSomething(*priced.instruction)) continue;
      priced.traffic =
          CountTraffic(analyzed.module, schedule.ComputationOf(step.instance), *priced.instruction);
    }
    analyzed.priced.push_back(std::move(priced));
  }
}

}  // namespace

absl::StatusOr<hlo::Module> ReadModule(const std::string& path) {
  absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  return hlo::ParseModule(*std::move(text), path);
}

absl::StatusOr<std::unique_ptr<AnalyzedModule>> AnalyzeModule(hlo::Module module, std::string path,
                                                              const InPlaceHints& hints) {
  auto analyzed = std::make_unique<AnalyzedModule>();
  analyzed->path = std::move(path);
  analyzed->module = std::move(module);
  absl::StatusOr<Schedule> schedule = FlattenSchedule(analyzed->module, analyzed->path);
  if (!schedule.ok()) return schedule.status();
  analyzed->schedule = *std::move(schedule);
  absl::StatusOr<Dataflow> flow = Dataflow::Analyze(analyzed->schedule, hints, analyzed->path);
  if (!flow.ok()) return flow.status();
  analyzed->flow = *std::move(flow);
  CollectPricedSteps(*analyzed);
  return analyzed;
}

absl::string_view BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace mallocmuzero
