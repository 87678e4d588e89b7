#include "simulator/import/matching/translate.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace mallocmuzero {
namespace {

using hlo::Opcode;

class Translator {
 public:
  Translator(const AnalyzedModule& base, const AnalyzedModule& other, const Match& match)
      : base_(base), other_(other), match_(match) {}

  std::vector<int32_t> Run() && {
    TranslateInstances();
    TranslatePricedSteps();
    std::vector<int32_t> storage_of(other_.flow.values().size(), -1);
    for (size_t v = 0; v < storage_of.size(); ++v) {
      storage_of[v] = Translate(other_.flow.values()[v]);
    }
    return storage_of;
  }

 private:
  // Maps instances: the entry to the entry, bodies and conditions of loops whose markers match, and
  // the callees of matching calls in order.
  void TranslateInstances() {
    instance_of_.assign(other_.schedule.instances.size(), -1);
    instance_of_[0] = 0;
    for (const ScheduledLoop& loop : other_.schedule.loops) {
      const int32_t marker = match_.base_of_other[other_.priced_at_or_after[loop.begin]];
      if (marker < 0) continue;
      for (const ScheduledLoop& candidate : base_.schedule.loops) {
        if (candidate.begin != base_.priced[marker].step) continue;
        instance_of_[loop.body] = candidate.body;
        instance_of_[loop.condition] = candidate.condition;
      }
    }
    if (base_.schedule.calls.size() != other_.schedule.calls.size()) return;
    for (size_t c = 0; c < other_.schedule.calls.size(); ++c) {
      const auto& ours = base_.schedule.calls[c].callees;
      const auto& theirs = other_.schedule.calls[c].callees;
      for (size_t k = 0; k < std::min(ours.size(), theirs.size()); ++k) {
        instance_of_[theirs[k]] = ours[k];
      }
    }
  }

  void TranslatePricedSteps() {
    for (size_t i = 0; i < other_.priced.size(); ++i) {
      const int32_t found = match_.base_of_other[i];
      if (found < 0) continue;
      const Step& theirs = other_.StepOf(other_.priced[i]);
      const Step& ours = base_.StepOf(base_.priced[found]);
      step_of_[{theirs.instance, theirs.instruction}] = {ours.instance, ours.instruction};
    }
  }

  int32_t Translate(const HloValue& value) const {
    const hlo::Computation& computation = other_.schedule.ComputationOf(value.instance);
    const hlo::Instruction& definition = computation.instructions[value.instruction];
    if (IsAsyncStart(definition.opcode) || IsConcatBitcast(definition)) return -1;
    if (const auto step = step_of_.find({value.instance, value.instruction});
        step != step_of_.end()) {
      return StorageOf(step->second.first, step->second.second, value.leaf);
    }
    const int32_t instance = instance_of_[value.instance];
    if (instance < 0) return -1;
    const hlo::Computation& ours = base_.schedule.ComputationOf(instance);
    if (definition.opcode == Opcode::kParameter) {
      const int32_t number = definition.parameter_number.value_or(-1);
      if (number < 0 || number >= ours.parameters.size()) return -1;
      return StorageOf(instance, ours.parameters[number], value.leaf);
    }
    if (!IsForwarding(definition.opcode)) return -1;
    const auto index = ours.Find(definition.name);
    if (!index || ours.instructions[*index].opcode != definition.opcode) return -1;
    return StorageOf(instance, *index, value.leaf);
  }

  int32_t StorageOf(int32_t instance, hlo::InstructionIndex instruction, int32_t leaf) const {
    const auto values = base_.flow.ValuesOf(instance, instruction);
    return leaf < values.size() ? base_.flow.StorageOf(values[leaf]) : -1;
  }

  using StepKey = std::pair<int32_t, hlo::InstructionIndex>;  // instance, instruction

  const AnalyzedModule& base_;
  const AnalyzedModule& other_;
  const Match& match_;
  std::vector<int32_t> instance_of_;  // for each instance of `other`
  absl::flat_hash_map<StepKey, StepKey> step_of_;
};

}  // namespace

std::vector<int32_t> TranslateValues(const AnalyzedModule& all_hbm, const AnalyzedModule& other,
                                     const Match& match) {
  return Translator(all_hbm, other, match).Run();
}

}  // namespace mallocmuzero
