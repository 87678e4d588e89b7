#include "simulator/import/structure/source.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>

#include "absl/types/span.h"

namespace mallocmuzero {
namespace {

// True if some access of the instruction has among its positions the operand, an array, and the
// output at `tuple_index`.
bool SharesBuffer(const v1::Program& program, const v1::Instruction& instruction, int32_t operand,
                  absl::Span<const int32_t> tuple_index) {
  for (uint32_t k = 0; k < instruction.access_count(); ++k) {
    bool reads = false;
    bool writes = false;
    const int index = instruction.first_access() + k;
    for (const v1::Position& position : program.accesses(index).positions()) {
      const bool same_index =
          std::equal(position.tuple_index().begin(), position.tuple_index().end(),
                     tuple_index.begin(), tuple_index.end());
      reads = reads || (position.operand() == operand && position.tuple_index().empty());
      writes = writes || (position.operand() < 0 && same_index);
    }
    if (reads && writes) return true;
  }
  return false;
}

}  // namespace

std::vector<InPlacePair> SharedListedPairs(const v1::Program& program,
                                           const v1::Instruction& instruction,
                                           const hlo::Instruction& listing) {
  std::vector<InPlacePair> pairs = ListedPairs(listing);
  if (pairs.empty()) return pairs;
  const std::vector<hlo::ShapeIndex> leaves = hlo::LeafIndices(listing.shape);
  std::erase_if(pairs, [&](const InPlacePair& pair) {
    return !SharesBuffer(program, instruction, pair.operand, leaves[pair.output_leaf]);
  });
  return pairs;
}

void AddSource(const AnalyzedModule& all_hbm, v1::Program& program) {
  v1::Source& source = *program.mutable_source();
  for (int i = 0; i < std::ssize(all_hbm.priced); ++i) {
    const hlo::Instruction& instruction = *all_hbm.priced[i].instruction;
    v1::Source::Instruction& added = *source.add_instructions();
    added.set_instance(all_hbm.StepOf(all_hbm.priced[i]).instance);
    added.set_shape(hlo::ShapeToStringWithoutMemory(instruction.shape));
    for (const InPlacePair& pair :
         SharedListedPairs(program, program.instructions(i), instruction)) {
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
