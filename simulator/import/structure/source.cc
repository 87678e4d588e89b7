#include "simulator/import/structure/source.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"

namespace mallocmuzero {
namespace {

// True if the operand of the pair is an array and has the buffer of that array of the result. The
// instruction may have more accesses than the program has of it, so that none is to this buffer.
bool IsInBufferOfResult(const AnalyzedModule& all_hbm, const PricedStep& priced,
                        const InPlacePair& pair, absl::Span<const int32_t> buffer_of_storage) {
  const Dataflow& flow = all_hbm.flow;
  const Step& step = all_hbm.StepOf(priced);
  const hlo::InstructionIndex operand = priced.instruction->operands[pair.operand];
  const hlo::Computation& computation = all_hbm.schedule.ComputationOf(step.instance);
  if (computation.instructions[operand].shape.IsTuple()) return false;
  const ValueId read = flow.ValuesOf(step.instance, operand)[0];
  const ValueId written = flow.ValuesOf(step.instance, step.instruction)[pair.output_leaf];
  const int32_t storage = flow.StorageOf(read);
  return storage == flow.StorageOf(written) && buffer_of_storage[storage] >= 0;
}

}  // namespace

void AddSource(const AnalyzedModule& all_hbm, Assembly& assembly) {
  v1::Source& source = *assembly.program.mutable_source();
  // The pairs that each instruction lists, which all inlined copies of it share.
  absl::flat_hash_map<const hlo::Instruction*, std::vector<InPlacePair>> listed;
  for (const PricedStep& priced : all_hbm.priced) {
    const hlo::Instruction& instruction = *priced.instruction;
    v1::Source::Instruction& added = *source.add_instructions();
    added.set_instance(all_hbm.StepOf(priced).instance);
    added.set_shape(hlo::ShapeToStringWithoutMemory(instruction.shape));
    const auto [pairs, is_new] = listed.try_emplace(&instruction);
    if (is_new) pairs->second = ListedPairs(instruction);
    for (const InPlacePair& pair : pairs->second) {
      if (!IsInBufferOfResult(all_hbm, priced, pair, assembly.buffer_of_storage)) continue;
      v1::Source::Instruction::Alias& alias = *added.add_aliases();
      alias.set_operand(pair.operand);
      alias.set_output(pair.output_leaf);
    }
  }
  for (const ScheduledLoop& loop : all_hbm.schedule.loops) {
    v1::Source::Loop& added = *source.add_loops();
    added.set_body(loop.body);
    added.set_condition(loop.condition);
  }
  for (const ScheduledCall& call : all_hbm.schedule.calls) {
    v1::Source::Call& added = *source.add_calls();
    for (const int32_t callee : call.callees) added.add_callees(callee);
  }
}

InPlaceHints HintsFromSource(const v1::Program& program) {
  InPlaceHints hints;
  for (int i = 0; i < program.instructions_size(); ++i) {
    std::vector<InPlacePair>& pairs = hints[program.instructions(i).name()];
    pairs.clear();
    for (const v1::Source::Instruction::Alias& alias : program.source().instructions(i).aliases()) {
      const int32_t operand = alias.operand();
      const int32_t output = alias.output();
      pairs.push_back({.operand = operand, .output_leaf = output});
    }
  }
  return hints;
}

}  // namespace mallocmuzero
