#include "simulator/import/analysis/traffic.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "simulator/import/analysis/collectives.h"
#include "simulator/import/analysis/dataflow.h"
#include "simulator/import/analysis/max_looks.h"
#include "simulator/import/analysis/names.h"

namespace mallocmuzero {
namespace {

using hlo::Opcode;

// One operand of an instruction.
struct Use {
  const hlo::Instruction* user = nullptr;
  size_t number = 0;  // of the operand
};

// The uses of results within computations. All uses of a computation are found together, because
// many parameters of one fusion may be looked up.
class Uses {
 public:
  // The uses of what `instruction` of `computation` makes, in the order of the schedule. The span
  // stays valid when other uses are looked up.
  absl::Span<const Use> Of(const hlo::Computation& computation, hlo::InstructionIndex instruction) {
    std::vector<std::vector<Use>>& uses = of_computation_[&computation];
    if (uses.empty()) {
      uses.resize(computation.instructions.size());
      for (const hlo::Instruction& user : computation.instructions) {
        for (size_t i = 0; i < user.operands.size(); ++i)
          uses[user.operands[i]].push_back({&user, i});
      }
    }
    return uses[instruction];
  }

 private:
  absl::flat_hash_map<const hlo::Computation*, std::vector<std::vector<Use>>> of_computation_;
};

// Progress of the walk into a fusion.
struct Walk {
  int depth = 0;
  int* looks_left;  // not owned
  Uses* uses;       // not owned

  Walk Deeper() const { return {depth + 1, looks_left, uses}; }
  void Look(const hlo::Computation& computation) const {
    const int count = std::min<size_t>(computation.instructions.size(), kMaxLooks);
    *looks_left = std::max(0, *looks_left - count);
  }
  bool MayGoDeeper() const { return *looks_left > 0 && depth < kMaxFusionDepth; }
};

// Bytes of the arrays of a shape, without the pointers of tuples.
int64_t ArrayBytes(const hlo::Shape& shape) {
  int64_t bytes = 0;
  hlo::ForEachLeaf(shape, [&](absl::Span<const int32_t>, const hlo::Shape& leaf) {
    bytes = SaturatingAdd(bytes, hlo::ShapeByteSize(leaf));
  });
  return bytes;
}

const hlo::Instruction* Operand(const hlo::Computation& computation,
                                const hlo::Instruction& instruction, size_t number) {
  if (number >= instruction.operands.size()) return nullptr;
  return &computation.instructions[instruction.operands[number]];
}

int64_t OperandBytes(const hlo::Computation& computation, const hlo::Instruction& instruction,
                     size_t number) {
  const hlo::Instruction* operand = Operand(computation, instruction, number);
  return operand ? ArrayBytes(operand->shape) : 0;
}

// Bytes of the updates of input `number` of a scatter, whose operands are n inputs, the indices, n
// updates.
int64_t UpdateBytes(const hlo::Computation& computation, const hlo::Instruction& scatter,
                    size_t number) {
  return OperandBytes(computation, scatter, scatter.operands.size() / 2 + 1 + number);
}

// Bytes that the instruction `user` reads of its operand `number`. -1 means the whole array; the
// array is then counted once, even if several users read it all.
// HloCostAnalysis::FusionParameterReadBytes.
int64_t UserReadBytes(const hlo::Module& module, const hlo::Computation& computation,
                      const hlo::Instruction& user, size_t number, Walk walk);

// Bytes that the computation `fused` reads of its parameter `number`.
int64_t ParameterReadBytes(const hlo::Module& module, const hlo::Computation& fused, int32_t number,
                           Walk walk) {
  if (number < 0 || number >= fused.parameters.size()) return 0;
  const hlo::InstructionIndex parameter = fused.parameters[number];
  const int64_t whole = ArrayBytes(fused.instructions[parameter].shape);
  int64_t bytes = 0;
  bool whole_counted = false;
  walk.Look(fused);
  for (const Use& use : walk.uses->Of(fused, parameter)) {
    const int64_t read = UserReadBytes(module, fused, *use.user, use.number, walk);
    if (read >= 0) {
      bytes = SaturatingAdd(bytes, read);
    } else if (!whole_counted) {
      whole_counted = true;
      bytes = SaturatingAdd(bytes, whole);
    }
  }
  return std::min(bytes, whole);
}

int64_t UserReadBytes(const hlo::Module& module, const hlo::Computation& computation,
                      const hlo::Instruction& user, size_t number, Walk walk) {
  switch (user.opcode) {
    case Opcode::kFusion: {
      const auto called = user.Called(hlo::CallRole::kCalls);
      if (!called || !walk.MayGoDeeper()) return -1;
      return ParameterReadBytes(module, module.computations[*called], number, walk.Deeper());
    }
    case Opcode::kSlice:
      return ArrayBytes(user.shape);
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
      return number == 0 ? ArrayBytes(user.shape) : -1;
    case Opcode::kDynamicUpdateSlice:
      return number == 0 ? 0 : -1;
    case Opcode::kScatter:
      return number < user.operands.size() / 2 ? UpdateBytes(computation, user, number) : -1;
    case Opcode::kBitcast: {  // follow it: the bitcast of a parameter may only be sliced
      int64_t bytes = 0;
      walk.Look(computation);
      const auto index =
          static_cast<hlo::InstructionIndex>(&user - computation.instructions.data());
      for (const Use& next : walk.uses->Of(computation, index)) {
        if (!walk.MayGoDeeper()) return -1;
        const int64_t read =
            UserReadBytes(module, computation, *next.user, next.number, walk.Deeper());
        if (read < 0) return -1;
        bytes = SaturatingAdd(bytes, read);
      }
      return user.is_root ? -1 : bytes;
    }
    default:
      return -1;
  }
}

// Bytes that the array `output` of `fused` takes to write as an output of the fusion.
int64_t RootWriteBytes(const hlo::Module& module, const hlo::Computation& fused, ResultArray output,
                       int depth, NameFollower& names) {
  const ResultArray array = names.Follow(fused, std::move(output));
  const hlo::Instruction& root = fused.instructions[array.instruction];
  switch (root.opcode) {
    case Opcode::kDynamicUpdateSlice:
      return OperandBytes(fused, root, 1);
    case Opcode::kScatter:
      return UpdateBytes(fused, root, array.index.empty() ? 0 : array.index[0]);
    case Opcode::kFusion: {
      const auto called = root.Called(hlo::CallRole::kCalls);
      if (!called || depth >= kMaxFusionDepth) break;
      const hlo::Computation& inner = module.computations[*called];
      return RootWriteBytes(module, inner, {inner.root, array.index}, depth + 1, names);
    }
    default:
      break;
  }
  const hlo::Shape* const written = hlo::SubShape(root.shape, array.index);
  return ArrayBytes(written == nullptr ? root.shape : *written);
}

std::vector<int64_t> LeafBytes(const hlo::Shape& shape) {
  std::vector<int64_t> bytes;
  hlo::ForEachLeaf(shape, [&](absl::Span<const int32_t>, const hlo::Shape& leaf) {
    bytes.push_back(hlo::ShapeByteSize(leaf));
  });
  return bytes;
}

void ApplyFusionRules(const hlo::Module& module, const hlo::Instruction& fusion,
                      ArrayTraffic& traffic) {
  const auto called = fusion.Called(hlo::CallRole::kCalls);
  if (!called) return;
  const hlo::Computation& fused = module.computations[*called];
  Uses uses;
  for (size_t i = 0; i < traffic.operand_bytes.size(); ++i) {
    if (traffic.operand_bytes[i].size() != 1) continue;
    int looks_left = kMaxLooks;  // after them each further read counts as one of the whole array
    traffic.operand_bytes[i][0] =
        ParameterReadBytes(module, fused, i, {.looks_left = &looks_left, .uses = &uses});
  }
  NameFollower names;
  size_t leaf = 0;
  hlo::ForEachLeaf(fused.instructions[fused.root].shape, [&](absl::Span<const int32_t> index,
                                                             const hlo::Shape&) {
    if (leaf >= traffic.output_bytes.size()) return;
    const hlo::ShapeIndex output(index.begin(), index.end());
    int64_t& bytes = traffic.output_bytes[leaf++];
    bytes = std::min(bytes, RootWriteBytes(module, fused, {fused.root, output}, 0, names));
  });
}

// Corrects the traffic of instructions that access only part of an operand or of their output.
void ApplyPartialRules(const hlo::Computation& computation, const hlo::Instruction& instruction,
                       ArrayTraffic& traffic) {
  const auto set_operand = [&](size_t number, int64_t bytes) {
    if (number < traffic.operand_bytes.size() && traffic.operand_bytes[number].size() == 1) {
      traffic.operand_bytes[number][0] = bytes;
    }
  };
  switch (instruction.opcode) {
    case Opcode::kSlice:
    case Opcode::kDynamicSlice:
    case Opcode::kGather:
      set_operand(0, ArrayBytes(instruction.shape));
      break;
    case Opcode::kDynamicUpdateSlice:
      set_operand(0, 0);
      if (traffic.output_bytes.size() == 1) {
        traffic.output_bytes[0] = OperandBytes(computation, instruction, 1);
      }
      break;
    case Opcode::kScatter: {
      const size_t inputs = instruction.operands.size() / 2;
      for (size_t i = 0; i < inputs && i < traffic.output_bytes.size(); ++i) {
        const int64_t updates = UpdateBytes(computation, instruction, i);
        set_operand(i, updates);
        traffic.output_bytes[i] = updates;
      }
      break;
    }
    default:
      break;
  }
}

}  // namespace

ArrayTraffic CountTraffic(const hlo::Module& module, const hlo::Computation& computation,
                          const hlo::Instruction& instruction) {
  ArrayTraffic traffic;
  if (instruction.opcode == Opcode::kTuple) {
    traffic.pointer_bytes = hlo::TuplePointerBytes(instruction.shape, kTuplePointerBytes);
  }
  const bool moves = !IsForwarding(instruction.opcode) && !IsAsyncStart(instruction.opcode) &&
                     !IsAsyncDone(instruction.opcode) && !IsConcatBitcast(instruction) &&
                     instruction.opcode != Opcode::kTuple &&
                     CollectiveFusionOf(module, instruction) == CollectiveFusion::kNone;
  for (hlo::InstructionIndex operand : instruction.operands) {
    std::vector<int64_t> bytes = LeafBytes(computation.instructions[operand].shape);
    if (!moves) std::fill(bytes.begin(), bytes.end(), 0);
    traffic.operand_bytes.push_back(std::move(bytes));
  }
  traffic.output_bytes = LeafBytes(instruction.shape);
  if (!moves) {
    std::fill(traffic.output_bytes.begin(), traffic.output_bytes.end(), 0);
  } else if (instruction.opcode == Opcode::kFusion) {
    ApplyFusionRules(module, instruction, traffic);
  } else {
    ApplyPartialRules(computation, instruction, traffic);
  }
  return traffic;
}

}  // namespace mallocmuzero
