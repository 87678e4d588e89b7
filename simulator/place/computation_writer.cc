#include "simulator/place/computation_writer.h"

#include "base/size32.h"
#include "simulator/place/shape_edit.h"

namespace mallocmuzero::place {

ComputationWriter::ComputationWriter(ModuleEditor& editor, xla::HloComputationProto& computation)
    : editor_(editor), computation_(computation) {
  for (xla::HloInstructionProto& instruction : *computation.mutable_instructions()) {
    for (const int64_t before : instruction.control_predecessor_ids()) {
      control_predecessors_.insert(before);
    }
    original_by_name_[instruction.name()] = Size32(originals_);
    originals_.push_back(std::move(instruction));
  }
  computation.clear_instructions();
}

const xla::HloInstructionProto* ComputationWriter::Original(absl::string_view name) const {
  const auto found = original_by_name_.find(std::string(name));
  return found == original_by_name_.end() ? nullptr : &originals_[found->second];
}

bool ComputationWriter::HasControlDependency(const xla::HloInstructionProto& original) const {
  return original.control_predecessor_ids_size() > 0 ||
         control_predecessors_.contains(original.id());
}

int64_t ComputationWriter::Append(xla::HloInstructionProto instruction) {
  if (written_by_id_.contains(instruction.id())) {
    instruction.set_id(editor_.NewId());
    instruction.set_name(editor_.NewName(instruction.opcode()));
  }
  const int64_t id = instruction.id();
  written_by_id_[id] = Size32(written_);
  written_.push_back(std::move(instruction));
  return id;
}

int64_t ComputationWriter::AppendNew(absl::string_view opcode, xla::ShapeProto shape,
                                     absl::Span<const int64_t> operands) {
  xla::HloInstructionProto instruction;
  instruction.set_id(editor_.NewId());
  instruction.set_name(editor_.NewName(opcode));
  instruction.set_opcode(std::string(opcode));
  *instruction.mutable_shape() = std::move(shape);
  instruction.mutable_operand_ids()->Assign(operands.begin(), operands.end());
  return Append(std::move(instruction));
}

const xla::ShapeProto& ComputationWriter::ShapeOf(int64_t id) const {
  return written_[written_by_id_.at(id)].shape();
}

int64_t ComputationWriter::AppendNamed(const xla::HloInstructionProto* named,
                                       absl::string_view opcode, xla::ShapeProto shape,
                                       absl::Span<const int64_t> operands) {
  if (named == nullptr) return AppendNew(opcode, std::move(shape), operands);
  xla::HloInstructionProto instruction = *named;
  *instruction.mutable_shape() = std::move(shape);
  instruction.mutable_operand_ids()->Assign(operands.begin(), operands.end());
  return Append(std::move(instruction));
}

int64_t ComputationWriter::Element(int64_t tuple, absl::Span<const int32_t> index,
                                   const xla::HloInstructionProto* named) {
  for (size_t i = 0; i < index.size(); ++i) {
    const auto [element, is_new] = elements_.try_emplace({tuple, index[i]}, 0);
    if (is_new) {
      const bool is_last = i + 1 == index.size();
      element->second = AppendNamed(is_last ? named : nullptr, "get-tuple-element",
                                    ShapeOf(tuple).tuple_shapes(index[i]), {tuple});
      written_.back().set_tuple_index(index[i]);
    }
    tuple = element->second;
  }
  return tuple;
}

int64_t ComputationWriter::Tuple(absl::Span<const int64_t> elements,
                                 const xla::HloInstructionProto* named) {
  const auto [tuple, is_new] = tuples_.try_emplace({elements.begin(), elements.end()}, 0);
  if (!is_new) return tuple->second;
  std::vector<xla::ShapeProto> shapes;
  for (const int64_t element : elements) shapes.push_back(ShapeOf(element));
  return tuple->second = AppendNamed(named, "tuple", TupleShape(shapes), elements);
}

int64_t ComputationWriter::Bitcast(int64_t source, const xla::ShapeProto& shape,
                                   const xla::HloInstructionProto* named) {
  xla::ShapeProto wanted = shape;
  SetMemorySpace(wanted, {}, ShapeOf(source).layout().memory_space());
  const auto [bitcast, is_new] = bitcasts_.try_emplace({source, wanted.SerializeAsString()}, 0);
  if (is_new) bitcast->second = AppendNamed(named, "bitcast", wanted, {source});
  return bitcast->second;
}

void ComputationWriter::Finish(int64_t root) {
  xla::HloScheduleProto::InstructionSequence& sequence =
      (*editor_.module().mutable_schedule()->mutable_sequences())[computation_.id()];
  sequence.clear_instruction_ids();
  for (xla::HloInstructionProto& instruction : written_) {
    sequence.add_instruction_ids(instruction.id());
    if (instruction.opcode() == "parameter" &&
        instruction.parameter_number() < computation_.program_shape().parameters_size()) {
      *computation_.mutable_program_shape()->mutable_parameters(instruction.parameter_number()) =
          instruction.shape();
    }
  }
  *computation_.mutable_program_shape()->mutable_result() = ShapeOf(root);
  computation_.set_root_id(root);
  for (xla::HloInstructionProto& instruction : written_) {
    *computation_.add_instructions() = std::move(instruction);
  }
}

}  // namespace mallocmuzero::place
