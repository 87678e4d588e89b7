// The effects of single instructions on values. The analysis of a whole schedule is in dataflow.cc.

#include <algorithm>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/size32.h"
#include "simulator/import/analysis/dataflow.h"
#include "simulator/import/analysis/names.h"

namespace mallocmuzero {
namespace {

using hlo::Opcode;

// The operand that an instruction works on in place to make the array at `index` of its result; -1
// if there is none.
int32_t OwnOperand(const hlo::Computation& computation, const hlo::Instruction& instruction,
                   absl::Span<const int32_t> index) {
  switch (instruction.opcode) {
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kSetDimensionSize:
      return index.empty() ? 0 : -1;
    case Opcode::kRaggedAllToAll:
      return index.empty() ? 1 : -1;
    case Opcode::kCollectivePermute:
      return IsPermuteOfSlices(computation, instruction) ? 1 : -1;
    case Opcode::kCollectivePermuteStart: {
      const bool of_results = !index.empty() && index[0] == 1;
      return of_results && IsPermuteOfSlices(computation, instruction) ? 1 : -1;
    }
    case Opcode::kScatter: {  // operands are n inputs, the indices, n updates
      const int32_t inputs = Size32(instruction.operands) / 2;
      const int32_t input = index.empty() ? 0 : index[0];
      return index.size() <= 1 && input < inputs ? input : -1;
    }
    default:
      return -1;
  }
}

// Finds which parameters a fusion updates in place. Remembers what it has found: many arrays may
// come from one instruction, and many instructions may call one computation.
class UpdateFinder {
 public:
  explicit UpdateFinder(const hlo::Module& module) : module_(module) {}

  // The parameter that is updated in place by the array `output` of `fused`; -1 if there is none.
  // Between the update and the parameter may be a fusion that updates in place, but no other update
  // (XLA: AliasInfo::GetFusionInstructionInPlaceInputOutputPairs).
  int32_t ParameterOf(const hlo::Computation& fused, const ResultArray& output, int depth) {
    const Output key(&fused, output.instruction, output.index, depth);
    const auto known = parameter_of_.find(key);
    if (known != parameter_of_.end()) return known->second;
    const int32_t parameter = FindParameter(fused, output, depth);
    parameter_of_[key] = parameter;
    return parameter;
  }

 private:
  // Computation, instruction, index and depth of an array.
  using Output = std::tuple<const hlo::Computation*, hlo::InstructionIndex, hlo::ShapeIndex, int>;

  int32_t FindParameter(const hlo::Computation& fused, const ResultArray& output, int depth) {
    ResultArray array = names_.Follow(fused, output);
    for (int updates = 0; updates < 2; ++updates) {
      const hlo::Instruction& update = fused.instructions[array.instruction];
      if (updates > 0 && update.opcode != Opcode::kFusion) break;
      const int32_t operand = UpdatedOperand(fused, array, depth);
      if (operand < 0 || operand >= std::ssize(update.operands)) return -1;
      array = names_.Follow(fused, {update.operands[operand], {}});
    }
    const hlo::Instruction& source = fused.instructions[array.instruction];
    return source.opcode == Opcode::kParameter && array.index.empty()
               ? source.parameter_number.value_or(-1)
               : -1;
  }

  // The operand that an instruction of a fused computation updates in place to make the array
  // `result`; -1 if there is none.
  int32_t UpdatedOperand(const hlo::Computation& fused, const ResultArray& result, int depth) {
    const hlo::Instruction& instruction = fused.instructions[result.instruction];
    const int32_t stated = StatedOperand(instruction, result.index);
    if (stated >= 0) return stated;
    if (instruction.opcode != Opcode::kFusion) return OwnOperand(fused, instruction, result.index);
    const auto called = instruction.Called(hlo::CallRole::kCalls);
    if (!called || depth >= kMaxFusionDepth) return -1;
    const hlo::Computation& inner = module_.computations[*called];
    return ParameterOf(inner, {inner.root, result.index}, depth + 1);
  }

  // The operand that shares a buffer with the array at `index` of the result by
  // output_to_operand_aliasing; -1 if there is none.
  int32_t StatedOperand(const hlo::Instruction& instruction, const hlo::ShapeIndex& index) {
    if (instruction.output_to_operand_aliasing.empty()) return -1;
    const auto [stated, is_new] = stated_.try_emplace(&instruction);
    if (is_new) {
      for (const hlo::OutputOperandAlias& alias : instruction.output_to_operand_aliasing) {
        if (!alias.operand_index.empty()) continue;
        stated->second.try_emplace(alias.output_index, alias.operand);
      }
    }
    const auto operand = stated->second.find(index);
    return operand == stated->second.end() ? -1 : operand->second;
  }

  const hlo::Module& module_;
  NameFollower names_;
  absl::flat_hash_map<Output, int32_t> parameter_of_;
  absl::flat_hash_map<const hlo::Instruction*, absl::flat_hash_map<hlo::ShapeIndex, int32_t>>
      stated_;
};

// Appends a pair for each array of `shape`, the shape of the result, for which `operand_of` returns
// an operand.
template <typename OperandOf>
void AppendPairs(const hlo::Instruction& instruction, const hlo::Shape& shape,
                 const OperandOf& operand_of, std::vector<InPlacePair>& pairs) {
  int32_t leaf = 0;
  hlo::ForEachLeaf(shape, [&](absl::Span<const int32_t> index, const hlo::Shape&) {
    const int32_t operand = operand_of(index);
    if (operand >= 0 && operand < std::ssize(instruction.operands)) {
      pairs.push_back({operand, leaf});
    }
    ++leaf;
  });
}

void AppendStatedPairs(const hlo::Instruction& instruction, std::vector<InPlacePair>& pairs) {
  if (instruction.output_to_operand_aliasing.empty()) return;
  absl::flat_hash_map<hlo::ShapeIndex, int32_t> leaf_at;
  for (const hlo::ShapeIndex& index : hlo::LeafIndices(instruction.shape)) {
    leaf_at.try_emplace(index, Size32(leaf_at));
  }
  for (const hlo::OutputOperandAlias& alias : instruction.output_to_operand_aliasing) {
    const auto leaf = leaf_at.find(alias.output_index);
    if (leaf == leaf_at.end() || !alias.operand_index.empty()) continue;
    pairs.push_back({alias.operand, leaf->second});
  }
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
    case Opcode::kRecv:
    case Opcode::kSend:
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
    case Opcode::kRecvDone:
    case Opcode::kSendDone:
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

bool IsPermuteOfSlices(const hlo::Computation& computation, const hlo::Instruction& instruction) {
  const Opcode opcode =
      instruction.opcode == Opcode::kAsyncStart ? instruction.wrapped_opcode : instruction.opcode;
  const bool permutes =
      opcode == Opcode::kCollectivePermute || opcode == Opcode::kCollectivePermuteStart;
  if (!permutes || instruction.operands.size() != 4) return false;
  const hlo::Shape* results = &instruction.shape;
  if (IsAsyncStart(instruction.opcode)) {
    if (results->tuple_shapes.size() < 2) return false;
    results = &results->tuple_shapes[1];
  }
  const hlo::Shape& filled = computation.instructions[instruction.operands[1]].shape;
  return results->IsTuple() == filled.IsTuple();
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
                                      const hlo::Computation& computation,
                                      const hlo::Instruction& instruction) {
  if (instruction.opcode == Opcode::kFusion) return InPlacePairsOfFusion(module, instruction);
  std::vector<InPlacePair> pairs;
  AppendPairs(
      instruction, instruction.shape,
      [&](absl::Span<const int32_t> index) { return OwnOperand(computation, instruction, index); },
      pairs);
  if (IsPermuteOfSlices(computation, instruction) &&
      computation.instructions[instruction.operands[1]].shape.IsTuple()) {
    int32_t filled = 0;
    for (InPlacePair& pair : pairs) pair.operand_leaf = filled++;
  }
  AppendStatedPairs(instruction, pairs);
  return pairs;
}

std::vector<InPlacePair> InPlacePairsOfFusion(const hlo::Module& module,
                                              const hlo::Instruction& fusion) {
  std::vector<InPlacePair> pairs;
  AppendStatedPairs(fusion, pairs);
  const auto called = fusion.Called(hlo::CallRole::kCalls);
  if (!called) return pairs;
  const hlo::Computation& fused = module.computations[*called];
  UpdateFinder finder(module);
  AppendPairs(
      fusion, fused.instructions[fused.root].shape,
      [&](absl::Span<const int32_t> index) {
        return finder.ParameterOf(fused, {fused.root, hlo::ShapeIndex(index.begin(), index.end())},
                                  0);
      },
      pairs);
  return pairs;
}

}  // namespace mallocmuzero
