// The effects of single instructions on values. The analysis of a whole schedule is in dataflow.cc.

#include <algorithm>

#include "absl/strings/string_view.h"
#include "base/size32.h"
#include "simulator/import/analysis/dataflow.h"

namespace mallocmuzero {
namespace {

using hlo::Opcode;

// The number of the fusion parameter that instruction `index` of `fused` is, directly or through
// bitcasts; -1 if it is none.
int32_t SourceParameter(const hlo::Computation& fused, hlo::InstructionIndex index) {
  const hlo::Instruction* instruction = &fused.instructions[index];
  while (instruction->opcode == Opcode::kBitcast && !instruction->operands.empty()) {
    instruction = &fused.instructions[instruction->operands[0]];
  }
  return instruction->opcode == Opcode::kParameter ? instruction->parameter_number.value_or(-1)
                                                   : -1;
}

// Appends the pairs of an instruction that works in place itself. Operands are numbered as in that
// instruction.
void AppendOwnPairs(const hlo::Instruction& instruction, std::vector<InPlacePair>& pairs) {
  switch (instruction.opcode) {
    case Opcode::kDynamicUpdateSlice:
      if (!instruction.operands.empty()) pairs.push_back({0, 0});
      break;
    case Opcode::kScatter:  // operands are n inputs, the indices, n updates
      for (int32_t i = 0; i < Size32(instruction.operands) / 2; ++i) {
        pairs.push_back({i, i});
      }
      break;
    default:
      break;
  }
}

// The operand of the fusion that is updated in place by output `index` of `fused`; -1 if there is
// none.
int32_t InPlaceParameter(const hlo::Module& module, const hlo::Computation& fused,
                         hlo::InstructionIndex index, int depth) {
  const hlo::Instruction* instruction = &fused.instructions[index];
  while (instruction->opcode == Opcode::kBitcast && !instruction->operands.empty()) {
    index = instruction->operands[0];
    instruction = &fused.instructions[index];
  }
  std::vector<InPlacePair> pairs;
  if (instruction->opcode == Opcode::kFusion && depth < kMaxFusionDepth) {
    if (const auto called = instruction->Called(hlo::CallRole::kCalls)) {
      const hlo::Computation& inner = module.computations[*called];
      const int32_t operand = InPlaceParameter(module, inner, inner.root, depth + 1);
      if (operand >= 0) pairs.push_back({operand, 0});
    }
  } else {
    AppendOwnPairs(*instruction, pairs);
  }
  for (const InPlacePair& pair : pairs) {
    if (pair.output_leaf == 0 && pair.operand < instruction->operands.size()) {
      return SourceParameter(fused, instruction->operands[pair.operand]);
    }
  }
  return -1;
}

}  // namespace

int32_t LeafOrdinal(const hlo::Shape& shape, absl::Span<const int32_t> index) {
  int32_t ordinal = 0;
  int32_t found = -1;
  hlo::ForEachLeaf(shape, [&](absl::Span<const int32_t> leaf_index, const hlo::Shape&) {
    if (leaf_index == index) found = ordinal;
    ++ordinal;
  });
  return found;
}

bool IsForwarding(Opcode opcode) {
  switch (opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
    case Opcode::kGetTupleElement:
    case Opcode::kBitcast:
    case Opcode::kOptimizationBarrier:
    case Opcode::kAddDependency:
    case Opcode::kDomain:
    case Opcode::kAfterAll:
    case Opcode::kPartitionId:
    case Opcode::kReplicaId:
    case Opcode::kCall:
    case Opcode::kConditional:
    case Opcode::kWhile:
      return true;
    default:
      return false;
  }
}

bool IsAsyncStart(Opcode opcode) {
  switch (opcode) {
    case Opcode::kCopyStart:
    case Opcode::kAsyncStart:
    case Opcode::kAllGatherStart:
    case Opcode::kAllReduceStart:
    case Opcode::kCollectivePermuteStart:
      return true;
    default:
      return false;
  }
}

bool IsAsyncDone(Opcode opcode) {
  switch (opcode) {
    case Opcode::kCopyDone:
    case Opcode::kAsyncDone:
    case Opcode::kAsyncUpdate:
    case Opcode::kAllGatherDone:
    case Opcode::kAllReduceDone:
    case Opcode::kCollectivePermuteDone:
      return true;
    default:
      return false;
  }
}

bool BindsOperands(const hlo::Instruction& instruction) {
  return instruction.opcode == Opcode::kAsyncUpdate && instruction.operands.size() > 1;
}

bool IsAsyncCopyStart(const hlo::Instruction& instruction) {
  if (instruction.opcode == Opcode::kCopyStart) return true;
  return instruction.opcode == Opcode::kAsyncStart &&
         (instruction.wrapped_opcode == Opcode::kSlice ||
          instruction.wrapped_opcode == Opcode::kDynamicSlice ||
          instruction.wrapped_opcode == Opcode::kCopy);
}

bool IsConcatBitcast(const hlo::Instruction& instruction) {
  return instruction.opcode == Opcode::kCustomCall &&
         instruction.custom_call_target == "ConcatBitcast";
}

std::vector<InPlacePair> ListedPairs(const hlo::Instruction& instruction) {
  if (instruction.aliasing_operands.empty()) return {};
  const auto operands = std::ssize(instruction.operands);
  const int64_t end = operands + hlo::LeafCount(instruction.shape);
  std::vector<InPlacePair> pairs;
  for (std::vector<int32_t> list : instruction.aliasing_operands) {
    std::erase_if(list, [&](int32_t position) { return position < 0 || position >= end; });
    std::sort(list.begin(), list.end());
    const auto outputs = std::lower_bound(list.begin(), list.end(), operands);
    if (outputs == list.begin() || outputs == list.end()) continue;
    const auto leaf = [&](int32_t position) -> int32_t { return position - operands; };
    for (auto it = list.begin(); it != outputs; ++it) pairs.push_back({*it, leaf(*outputs)});
    for (auto it = outputs; it != list.end(); ++it) pairs.push_back({list.front(), leaf(*it)});
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

InPlaceHints CommonListedPairs(absl::Span<const hlo::Module* const> modules) {
  InPlaceHints hints;
  for (const hlo::Module* module : modules) {
    const bool first = module == modules.front();
    for (const hlo::Computation& computation : module->computations) {
      for (const hlo::Instruction& instruction : computation.instructions) {
        const std::vector<InPlacePair> listed = ListedPairs(instruction);
        if (first) {
          if (!listed.empty()) hints[instruction.name] = listed;
        } else if (const auto hint = hints.find(instruction.name); hint != hints.end()) {
          std::erase_if(hint->second, [&](const InPlacePair& pair) {
            return !std::binary_search(listed.begin(), listed.end(), pair);
          });
        }
      }
    }
  }
  return hints;
}

std::vector<InPlacePair> InPlacePairs(const hlo::Module& module,
                                      const hlo::Instruction& instruction) {
  std::vector<InPlacePair> pairs;
  AppendOwnPairs(instruction, pairs);
  for (const hlo::OutputOperandAlias& alias : instruction.output_to_operand_aliasing) {
    const int32_t leaf = LeafOrdinal(instruction.shape, alias.output_index);
    if (leaf >= 0 && alias.operand_index.empty()) pairs.push_back({alias.operand, leaf});
  }
  if (instruction.opcode != Opcode::kFusion) return pairs;
  const auto called = instruction.Called(hlo::CallRole::kCalls);
  if (!called) return pairs;
  const hlo::Computation& fused = module.computations[*called];
  const hlo::Instruction& root = fused.instructions[fused.root];
  if (root.opcode != Opcode::kTuple) {
    const int32_t operand = InPlaceParameter(module, fused, fused.root, 0);
    if (operand >= 0) pairs.push_back({operand, 0});
    return pairs;
  }
  for (int32_t leaf = 0; leaf < root.operands.size(); ++leaf) {
    const int32_t operand = InPlaceParameter(module, fused, root.operands[leaf], 0);
    if (operand >= 0) pairs.push_back({operand, leaf});
  }
  return pairs;
}

}  // namespace mallocmuzero
