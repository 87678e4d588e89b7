#include "simulator/place/fusion_memory.h"

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status_macros.h"
#include "simulator/place/shape_edit.h"

namespace mallocmuzero::place {
namespace {

using InstructionsById = absl::flat_hash_map<int64_t, xla::HloInstructionProto*>;

void SetRootShape(const xla::ShapeProto& shape, xla::HloInstructionProto& root,
                  const InstructionsById& by_id, absl::flat_hash_set<int64_t>& changed) {
  if (!SameShape(root.shape(), shape)) {
    *root.mutable_shape() = shape;
    changed.insert(root.id());
  }
  if (root.opcode() != "tuple") return;
  for (int i = 0; i < root.operand_ids_size() && i < shape.tuple_shapes_size(); ++i) {
    const auto element = by_id.find(root.operand_ids(i));
    if (element == by_id.end() || element->second->opcode() == "parameter") continue;
    SetRootShape(shape.tuple_shapes(i), *element->second, by_id, changed);
  }
}

}  // namespace

absl::Status SetFusedMemory(ModuleEditor& editor, xla::HloInstructionProto& fusion,
                            absl::Span<const xla::ShapeProto> operand_shapes) {
  MMZ_RETURN_IF_ERROR(editor.OwnFusedComputation(fusion));
  if (fusion.called_computation_ids_size() != 1) return absl::OkStatus();
  const int64_t id = fusion.called_computation_ids(0);
  xla::HloComputationProto* fused = editor.FindComputation(id);
  if (fused == nullptr) return absl::OkStatus();
  InstructionsById by_id;
  absl::flat_hash_set<int64_t> changed;
  for (xla::HloInstructionProto& instruction : *fused->mutable_instructions()) {
    by_id[instruction.id()] = &instruction;
    const int64_t number = instruction.parameter_number();
    if (instruction.opcode() != "parameter" || number >= operand_shapes.size()) continue;
    if (SameShape(instruction.shape(), operand_shapes[number])) continue;
    *instruction.mutable_shape() = operand_shapes[number];
    changed.insert(instruction.id());
  }
  if (const auto root = by_id.find(fused->root_id()); root != by_id.end()) {
    SetRootShape(fusion.shape(), *root->second, by_id, changed);
  }
  for (int i = 0; i < operand_shapes.size(); ++i) {
    if (i < fused->program_shape().parameters_size()) {
      *fused->mutable_program_shape()->mutable_parameters(i) = operand_shapes[i];
    }
  }
  *fused->mutable_program_shape()->mutable_result() = fusion.shape();
  for (xla::HloInstructionProto& inner : *fused->mutable_instructions()) {
    if (inner.opcode() != "fusion") continue;
    bool affected = changed.contains(inner.id());
    std::vector<xla::ShapeProto> shapes;
    for (const int64_t operand : inner.operand_ids()) {
      const auto found = by_id.find(operand);
      if (found == by_id.end()) return absl::OkStatus();
      affected = affected || changed.contains(operand);
      shapes.push_back(found->second->shape());
    }
    if (affected) MMZ_RETURN_IF_ERROR(SetFusedMemory(editor, inner, shapes));
  }
  return absl::OkStatus();
}

}  // namespace mallocmuzero::place
