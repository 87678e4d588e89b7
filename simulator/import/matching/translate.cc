#include "simulator/import/matching/translate.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "simulator/import/analysis/collectives.h"

namespace mallocmuzero {
namespace {

using hlo::Opcode;

class Translator {
 public:
  Translator(const v1::Program& program, const AnalyzedModule& other, const Match& match)
      : program_(program), source_(program.source()), other_(other), match_(match) {}

  std::vector<int32_t> Run() && {
    IndexProgram();
    TranslateInstances();
    TranslatePricedSteps();
    const std::vector<HloValue>& values = other_.flow.values();
    std::vector<int32_t> buffer_of(values.size(), -1);
    std::vector<hlo::ShapeIndex> leaves;
    for (size_t v = 0; v < values.size(); ++v) {
      // the values of one instruction are one after the other, in the order of its leaves
      if (values[v].leaf == 0) leaves = hlo::LeafIndices(DefinitionOf(values[v]).shape);
      buffer_of[v] = Translate(values[v], leaves[values[v].leaf]);
    }
    return buffer_of;
  }

 private:
  using Name = std::pair<int32_t, absl::string_view>;  // instance and name of an instruction

  const hlo::Instruction& DefinitionOf(const HloValue& value) const {
    return other_.schedule.ComputationOf(value.instance).instructions[value.instruction];
  }

  void IndexProgram() {
    for (int i = 0; i < program_.instructions_size(); ++i) {
      opcode_of_[NameOf(i)] = program_.instructions(i).opcode();
    }
    for (int l = 0; l < program_.loops_size(); ++l) {
      const int32_t begin = program_.loops(l).begin();
      loop_at_[begin] = l;
    }
    for (int t = 0; t < program_.tensors_size(); ++t) {
      const v1::Tensor& tensor = program_.tensors(t);
      const v1::Source::Tensor& made = source_.tensors(t);
      const int32_t instance = made.instance();
      buffer_of_[{instance, tensor.instruction_name(),
                  hlo::ShapeIndex(tensor.tuple_index().begin(), tensor.tuple_index().end())}] =
          tensor.buffer();
      if (made.has_parameter()) {
        parameter_[{instance, made.parameter()}] = tensor.instruction_name();
      }
    }
  }

  Name NameOf(int32_t instruction) const {
    const int32_t instance = source_.instructions(instruction).instance();
    return {instance, program_.instructions(instruction).name()};
  }

  // Maps instances: the entry to the entry, bodies and conditions of loops whose markers match, and
  // the callees of matching calls in order.
  void TranslateInstances() {
    instance_of_.assign(other_.schedule.instances.size(), -1);
    instance_of_[0] = 0;
    for (const ScheduledLoop& loop : other_.schedule.loops) {
      const auto found = loop_at_.find(match_.base_of_other[other_.priced_at_or_after[loop.begin]]);
      if (found == loop_at_.end()) continue;
      instance_of_[loop.body] = source_.loops(found->second).body();
      instance_of_[loop.condition] = source_.loops(found->second).condition();
    }
    if (source_.calls_size() != other_.schedule.calls.size()) return;
    for (int c = 0; c < source_.calls_size(); ++c) {
      const auto& ours = source_.calls(c).callees();
      const auto& theirs = other_.schedule.calls[c].callees;
      for (int k = 0; k < std::min<int>(ours.size(), theirs.size()); ++k) {
        instance_of_[theirs[k]] = ours[k];
      }
    }
  }

  void TranslatePricedSteps() {
    for (size_t i = 0; i < other_.priced.size(); ++i) {
      const int32_t found = match_.base_of_other[i];
      if (found < 0) continue;
      const Step& theirs = other_.StepOf(other_.priced[i]);
      step_of_[{theirs.instance, theirs.instruction}] = NameOf(found);
    }
  }

  int32_t Translate(const HloValue& value, const hlo::ShapeIndex& leaf) const {
    const hlo::Instruction& definition = DefinitionOf(value);
    const bool is_start = IsAsyncStart(definition.opcode) && !StatesItsArrays(definition);
    if (is_start || IsConcatBitcast(definition)) return -1;
    if (const auto step = step_of_.find({value.instance, value.instruction});
        step != step_of_.end()) {
      return BufferOf(step->second, leaf);
    }
    const int32_t instance = instance_of_[value.instance];
    if (instance < 0) return -1;
    if (definition.opcode == Opcode::kParameter) {
      const int32_t number = definition.parameter_number.value_or(-1);
      const auto parameter = parameter_.find({instance, number});
      return parameter == parameter_.end() ? -1 : BufferOf({instance, parameter->second}, leaf);
    }
    if (!IsForwarding(definition.opcode)) return -1;
    const Name name = {instance, definition.name};
    const auto opcode = opcode_of_.find(name);
    if (opcode != opcode_of_.end() && opcode->second != definition.opcode_text) return -1;
    return BufferOf(name, leaf);
  }

  int32_t BufferOf(const Name& name, const hlo::ShapeIndex& leaf) const {
    const auto found = buffer_of_.find({name.first, name.second, leaf});
    return found == buffer_of_.end() ? -1 : found->second;
  }

  const v1::Program& program_;
  const v1::Source& source_;
  const AnalyzedModule& other_;
  const Match& match_;
  absl::flat_hash_map<Name, absl::string_view> opcode_of_;  // of the program's instructions
  absl::flat_hash_map<int32_t, int> loop_at_;  // for the instruction that begins a loop: the loop
  // For each array that an instruction makes: the buffer.
  absl::flat_hash_map<std::tuple<int32_t, absl::string_view, hlo::ShapeIndex>, int32_t> buffer_of_;
  absl::flat_hash_map<std::pair<int32_t, int64_t>, absl::string_view> parameter_;  // its name
  std::vector<int32_t> instance_of_;  // for each instance of `other`
  absl::flat_hash_map<std::pair<int32_t, hlo::InstructionIndex>, Name> step_of_;
};

}  // namespace

std::vector<int32_t> TranslateValues(const v1::Program& program, const AnalyzedModule& other,
                                     const Match& match) {
  return Translator(program, other, match).Run();
}

}  // namespace mallocmuzero
