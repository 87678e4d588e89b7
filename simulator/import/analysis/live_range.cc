#include "simulator/import/analysis/live_range.h"

#include <algorithm>

#include "base/size32.h"

namespace mallocmuzero {
namespace {

class LiveRangeFinder {
 public:
  explicit LiveRangeFinder(const AnalyzedModule& analyzed)
      : analyzed_(analyzed), schedule_(analyzed.schedule), ranges_(analyzed.flow.storage_count()) {}

  std::vector<LiveRange> Run() && {
    for (int32_t s = 0; s < schedule_.steps.size(); ++s) {
      if (schedule_.steps[s].kind == Step::Kind::kInstruction) VisitStep(s);
    }
    for (const CarriedValue& carried : analyzed_.flow.carried()) {
      const ScheduledLoop& loop = schedule_.loops[carried.loop];
      UseAt(carried.initial, loop.begin, loop.parent);
      ExtendTo(carried.parameter, loop.begin);
      UseAt(carried.root, loop.end, carried.loop);
      ExtendTo(carried.result, loop.end);
    }
    const auto last = Size32(analyzed_.priced) - 1;
    for (ValueId value : analyzed_.flow.ValuesOf(0, schedule_.ComputationOf(0).root)) {
      LiveRange& range = RangeOf(value);
      range.live_out = true;
      range.last = std::max(range.last, last);
    }
    return std::move(ranges_);
  }

 private:
  LiveRange& RangeOf(ValueId value) { return ranges_[analyzed_.flow.StorageOf(value)]; }

  void ExtendTo(ValueId value, int32_t step) {
    LiveRange& range = RangeOf(value);
    range.first = std::min(range.first, PricedIndex(analyzed_, step));
    range.last = std::max(range.last, PricedIndex(analyzed_, step));
  }

  void UseAt(ValueId value, int32_t step, int32_t loop) {
    ExtendTo(value, step);
    for (; loop >= 0; loop = schedule_.loops[loop].parent) {
      if (RangeOf(value).first < PricedIndex(analyzed_, schedule_.loops[loop].begin)) {
        ExtendTo(value, schedule_.loops[loop].end);
      }
    }
  }

  void VisitStep(int32_t s) {
    const Step& step = schedule_.steps[s];
    const hlo::Instruction& instruction = schedule_.InstructionAt(step);
    const bool live_in = instruction.opcode == hlo::Opcode::kConstant ||
                         (instruction.opcode == hlo::Opcode::kParameter && step.instance == 0);
    for (ValueId value : analyzed_.flow.ValuesOf(step.instance, step.instruction)) {
      const HloValue& definition = analyzed_.flow.values()[value];
      if (definition.instance != step.instance || definition.instruction != step.instruction) {
        continue;  // forwarded
      }
      if (live_in) RangeOf(value).live_in = true;
      ExtendTo(value, live_in ? 0 : s);
    }
    // Some texts have an estimate for a forwarding instruction: then it is an instruction of the
    // program.
    const bool forwards = IsForwarding(instruction.opcode) && !instruction.estimated_cycles;
    if (forwards || instruction.opcode == hlo::Opcode::kTuple) return;
    const int32_t loop = schedule_.instances[step.instance].loop;
    for (hlo::InstructionIndex operand : instruction.operands) {
      for (ValueId value : analyzed_.flow.ValuesOf(step.instance, operand)) UseAt(value, s, loop);
    }
  }

  const AnalyzedModule& analyzed_;
  const Schedule& schedule_;
  std::vector<LiveRange> ranges_;
};

}  // namespace

int32_t PricedIndex(const AnalyzedModule& analyzed, int32_t step) {
  const auto last = Size32(analyzed.priced) - 1;
  return std::max(std::min(analyzed.priced_at_or_after[step], last), 0);
}

std::vector<LiveRange> ComputeLiveRanges(const AnalyzedModule& analyzed) {
  return LiveRangeFinder(analyzed).Run();
}

}  // namespace mallocmuzero
