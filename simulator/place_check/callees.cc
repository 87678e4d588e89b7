// Compares the computations that are part of an instruction.

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/size32.h"
#include "simulator/place_check/aliases.h"
#include "simulator/place_check/match.h"
#include "simulator/place_check/shapes.h"

namespace mallocmuzero::place_check {
namespace {

std::string Attributes(const xla::HloInstructionProto& instruction) {
  xla::HloInstructionProto rest = instruction;
  rest.clear_name();
  rest.clear_id();
  rest.clear_operand_ids();
  rest.clear_control_predecessor_ids();
  rest.clear_called_computation_ids();
  rest.clear_operand_shapes_with_layout();
  rest.clear_shape();
  rest.clear_metadata();
  rest.clear_backend_config();
  rest.clear_output_operand_aliasing();
  return rest.SerializeAsString();
}

// Marks the instructions of a fused computation whose memory space may change, because they share a
// buffer with a parameter or the root, as far as the compiler states it. These are the elements of
// a root tuple, the chain of updates below it, and the updated operands.
std::vector<bool> MayChangeSpace(const Computation& computation) {
  std::vector<bool> may(computation.instructions.size(), false);
  for (const int parameter : computation.parameters) may[parameter] = true;
  may[computation.root] = true;
  for (int i = Size32(may) - 1; i >= 0; --i) {
    const Instruction& instruction = computation.instructions[i];
    if (instruction.kind == Kind::kFusion) {
      // The operands and results of an inner fusion are in the memories of its own parameters and
      // roots.
      may[i] = true;
    } else if (may[i] && instruction.kind != Kind::kCompute) {
      for (const int operand : instruction.operands) may[operand] = true;
    } else if (may[i] &&
               (instruction.proto->opcode() == "dynamic-update-slice" ||
                instruction.proto->opcode() == "scatter") &&
               !instruction.operands.empty()) {
      may[instruction.operands[0]] = true;
    }
  }
  for (int i = 0; i < may.size(); ++i) {
    const Instruction& instruction = computation.instructions[i];
    if (instruction.kind != Kind::kElement && instruction.kind != Kind::kBitcast) continue;
    if (may[instruction.operands[0]]) may[i] = true;
  }
  return may;
}

}  // namespace

bool SameAttributes(const Instruction& original, const Instruction& placed) {
  // All of a custom call may be in its config, so that must be equal. A loop has its trip count
  // there.
  const bool same_config = original.proto->backend_config() == placed.proto->backend_config();
  if (original.proto->opcode() == "custom-call" && !same_config) return false;
  if (original.kind == Kind::kWhile && !same_config && !placed.proto->backend_config().empty()) {
    return false;
  }
  return Attributes(*original.proto) == Attributes(*placed.proto);
}

size_t HashOfAttributes(const Instruction& instruction) {
  return absl::Hash<std::string>()(Attributes(*instruction.proto));
}

std::string CalleeComparison::Difference(int original, int placed, bool fused) {
  const auto key = std::make_pair(std::make_pair(original, placed), fused);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  return known_[key] = Compare(original, placed, fused);
}

std::string CalleeComparison::CompareInstruction(int original, int placed, int index, bool fused) {
  const Instruction& was = original_.At(original, index);
  const Instruction& is = placed_.At(placed, index);
  if (!SameAttributes(was, is)) return "other attributes";
  if (const std::string fault = AliasFault(was, placed_, placed, index); !fault.empty()) {
    return fault;
  }
  if (was.operands != is.operands) return "other operands";
  if (!SameButForSpaces(was.proto->shape(), is.proto->shape())) {
    return absl::StrCat("shape ", Describe(is.proto->shape()), ", was ",
                        Describe(was.proto->shape()));
  }
  if (was.calls.size() != is.calls.size()) return "another number of called computations";
  for (size_t i = 0; i < was.calls.size(); ++i) {
    std::string inner = Difference(was.calls[i], is.calls[i], fused && was.kind == Kind::kFusion);
    if (!inner.empty()) return inner;
  }
  return "";
}

std::string CalleeComparison::Compare(int original, int placed, bool fused) {
  const Computation& was = original_.computations[original];
  const Computation& is = placed_.computations[placed];
  if (was.instructions.size() != is.instructions.size() || was.root != is.root) {
    return absl::StrCat("'", is.name(), "' has other instructions than '", was.name(), "'");
  }
  if (was.proto->execution_thread() != is.proto->execution_thread() ||
      was.proto->is_fusion_computation() != is.proto->is_fusion_computation()) {
    return absl::StrCat("'", is.name(), "' is of another kind than '", was.name(), "'");
  }
  const std::vector<bool> may_change = MayChangeSpace(is);
  for (int i = 0; i < is.instructions.size(); ++i) {
    const std::string difference = CompareInstruction(original, placed, i, fused);
    if (!difference.empty()) return absl::StrCat(placed_.Describe(placed, i), ": ", difference);
    if (fused && may_change[i] &&
        OnlyMoved(was.instructions[i].proto->shape(), is.instructions[i].proto->shape(),
                  fast_space_)) {
      continue;
    }
    if (SameShape(was.instructions[i].proto->shape(), is.instructions[i].proto->shape())) continue;
    return absl::StrCat(placed_.Describe(placed, i),
                        ": its memory space may not differ from the original's");
  }
  return "";
}

}  // namespace mallocmuzero::place_check
