#include "simulator/place/in_place.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "simulator/import/analysis/dataflow.h"
#include "simulator/place/shape_edit.h"

namespace mallocmuzero::place {
namespace {

// The listed pairs whose operand the fusion does not update in place by its own text. Leaves out
// pairs of operands and results that the fusion lacks: a damaged program may list such pairs.
std::vector<InPlacePair> ListedOnly(const ProgramSource& source, const hlo::Instruction& fusion) {
  const auto hint = source.hints.find(fusion.name);
  if (hint == source.hints.end()) return {};
  std::vector<InPlacePair> pairs = hint->second;
  const int32_t leaves = hlo::LeafCount(fusion.shape);
  const std::vector<InPlacePair> own = InPlacePairsOfFusion(source.all_hbm->module, fusion);
  std::erase_if(pairs, [&](const InPlacePair& pair) {
    return pair.operand < 0 || pair.operand >= std::ssize(fusion.operands) ||
           pair.output_leaf < 0 || pair.output_leaf >= leaves ||
           std::any_of(own.begin(), own.end(),
                       [&](const InPlacePair& known) { return known.operand == pair.operand; });
  });
  return pairs;
}

// True if the operand or the result already has an alias.
bool IsTaken(const xla::HloInstructionProto& fusion, int32_t operand,
             const hlo::ShapeIndex& result) {
  const auto& stated = fusion.output_operand_aliasing();
  return std::any_of(stated.begin(), stated.end(), [&](const xla::OutputOperandAliasing& alias) {
    return alias.operand_index() == operand ||
           std::equal(result.begin(), result.end(), alias.output_shape_index().begin(),
                      alias.output_shape_index().end());
  });
}

}  // namespace

void StateAliases(const ProgramSource& source, const hlo::Instruction& original,
                  absl::Span<const xla::ShapeProto> operand_shapes, int64_t fast_memory_space,
                  xla::HloInstructionProto& fusion) {
  const std::vector<InPlacePair> pairs = ListedOnly(source, original);
  if (pairs.empty()) return;
  const std::vector<hlo::ShapeIndex> leaves = hlo::LeafIndices(original.shape);
  for (const InPlacePair& pair : pairs) {
    const xla::ShapeProto& operand = operand_shapes[pair.operand];
    const hlo::ShapeIndex& result = leaves[pair.output_leaf];
    if (operand.layout().memory_space() != fast_memory_space ||
        !SameShape(operand, *SubShape(fusion.shape(), result)) ||
        IsTaken(fusion, pair.operand, result)) {
      continue;
    }
    xla::OutputOperandAliasing& alias = *fusion.add_output_operand_aliasing();
    alias.set_operand_index(pair.operand);
    alias.mutable_output_shape_index()->Assign(result.begin(), result.end());
  }
}

}  // namespace mallocmuzero::place
