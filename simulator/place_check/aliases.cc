#include "simulator/place_check/aliases.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "simulator/hlo/backend_config.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/module.h"
#include "simulator/place_check/in_place.h"
#include "simulator/place_check/shapes.h"

namespace mallocmuzero::place_check {
namespace {

// The lists of aliasing positions that the compiler wrote into the instruction. Operands are
// numbered first, then leaves of the result.
std::vector<std::vector<int32_t>> ListedAliases(const Instruction& instruction) {
  hlo::Instruction parsed;
  hlo::Lexer lexer(instruction.proto->backend_config(), instruction.name());
  if (!hlo::ParseBackendConfig(lexer, parsed)) return {};
  return parsed.aliasing_operands;
}

bool AreListed(const std::vector<std::vector<int32_t>>& lists, size_t operand, size_t result) {
  const auto has = [](const std::vector<int32_t>& list, size_t position) {
    return std::find(list.begin(), list.end(), position) != list.end();
  };
  return std::any_of(lists.begin(), lists.end(), [&](const std::vector<int32_t>& list) {
    return has(list, operand) && has(list, result);
  });
}

}  // namespace

std::string AliasFault(const Instruction& original, const Graph& placed, int computation,
                       int index) {
  const Instruction& instruction = placed.At(computation, index);
  const auto& was = original.proto->output_operand_aliasing();
  const auto& is = instruction.proto->output_operand_aliasing();
  const auto same = [](const xla::OutputOperandAliasing& a, const xla::OutputOperandAliasing& b) {
    return a.SerializeAsString() == b.SerializeAsString();
  };
  if (was.size() > is.size() || !std::equal(was.begin(), was.end(), is.begin(), same)) {
    return "lacks an alias of the original";
  }
  if (was.size() == is.size()) return "";
  if (instruction.kind != Kind::kFusion)
    return "has an alias that the original lacks, but is no fusion";
  const size_t operands = instruction.operands.size();
  const std::vector<std::vector<int32_t>> lists = ListedAliases(original);
  const std::vector<InPlacePair> pairs = InPlaceRules(placed).Pairs(computation, index);
  for (auto alias = is.begin() + was.size(); alias != is.end(); ++alias) {
    const int64_t operand = alias->operand_index();
    const size_t leaf = LeafAt(instruction.proto->shape(), alias->output_shape_index());
    const std::vector<const xla::ShapeProto*> leaves = Leaves(instruction.proto->shape());
    if (operand < 0 || operand >= operands || !alias->operand_shape_index().empty() ||
        leaf >= leaves.size() || !AreListed(lists, operand, operands + leaf)) {
      return absl::StrCat("has an alias of operand ", operand,
                          " that the compiler did not list for the original");
    }
    if (!SameShape(placed.ShapeOf(computation, instruction.operands[operand]), *leaves[leaf])) {
      return absl::StrCat("has an alias of operand ", operand, ", whose shape differs");
    }
    for (const InPlacePair& pair : pairs) {
      if (pair.operand != operand || pair.output_leaf == leaf) continue;
      return absl::StrCat("has two results in the buffer of operand ", operand);
    }
  }
  return "";
}

}  // namespace mallocmuzero::place_check
