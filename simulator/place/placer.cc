#include "simulator/place/placer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simulator/place/estimates.h"
#include "simulator/place/fusion_memory.h"
#include "simulator/place/in_place.h"
#include "simulator/place/shape_edit.h"

namespace mallocmuzero::place {
namespace {

using hlo::Opcode;

// Instructions that only forward values. They are appended when something needs them.
bool IsMadeOnDemand(Opcode opcode) {
  return opcode == Opcode::kGetTupleElement || opcode == Opcode::kTuple ||
         opcode == Opcode::kBitcast;
}

Memory AlwaysHbm(int32_t) { return Memory::kHbm; }

}  // namespace

Placer::Placer(const Program& program, const Mapping& mapping, const ProgramSource& source,
               xla::HloModuleProto module)
    : program_(program),
      mapping_(mapping),
      source_(source),
      editor_(std::move(module)),
      points_(program, mapping),
      current_(program.buffer_count(), -1) {
  InstructionIndex next = 0;
  for (const PricedStep& priced : source.all_hbm->priced) {
    const InstructionIndex i = next++;
    const Step& step = source.all_hbm->StepOf(priced);
    if (step.kind == Step::Kind::kInstruction) step_of_[{step.instance, step.instruction}] = i;
  }
}

absl::StatusOr<PlacedModule> Placer::Run() && {
  MMZ_RETURN_IF_ERROR(CheckInstances());
  xla::HloComputationProto* entry = editor_.FindComputation(schedule().ComputationOf(0).name);
  ComputationWriter writer(editor_, *entry);
  Frame frame(source_, 0, writer);
  MMZ_RETURN_IF_ERROR(EmitParameters(frame));
  MMZ_RETURN_IF_ERROR(StartPrefetch(frame));
  MMZ_RETURN_IF_ERROR(EmitInstructions(frame));
  MMZ_RETURN_IF_ERROR(RunPoints(frame, program_.instructions().end_index()));
  const int32_t prefetch = points_.cross_program_prefetch();
  if (prefetch >= 0 && in_flight_.contains(prefetch)) {  // nothing has used it
    MMZ_RETURN_IF_ERROR(FinishCopy(frame, prefetch, Memory::kHbm));
  }
  absl::StatusOr<int64_t> root = Root(frame, AlwaysHbm);
  if (!root.ok()) return root.status();
  writer.Finish(*root);
  result_.module = std::move(editor_).Take();
  return std::move(result_);
}

// A computation is written once, so it must run in only one place.
absl::Status Placer::CheckInstances() const {
  absl::flat_hash_map<hlo::ComputationIndex, int32_t> seen;
  for (int32_t i = 0; i < schedule().instances.size(); ++i) {
    const hlo::Computation& computation = schedule().ComputationOf(i);
    if (seen.try_emplace(schedule().instances[i].computation, i).second) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("%", computation.name,
                     ": runs in two places of the program; a module has one "
                     "placement for both"));
  }
  return absl::OkStatus();
}

absl::Status Placer::EmitParameters(Frame& frame) {
  for (const hlo::InstructionIndex index : frame.computation().parameters) {
    xla::HloInstructionProto parameter = *frame.Original(index);
    if (parameter_shape_ != nullptr) *parameter.mutable_shape() = *parameter_shape_;
    frame.writer().Append(std::move(parameter));
    if (frame.instance() == 0) NameResults(frame, index, frame.Original(index)->id(), AlwaysHbm);
  }
  return absl::OkStatus();
}

// Constants come first, because a copy may start before the place where the compiler put the
// constant.
absl::Status Placer::EmitConstants(Frame& frame) {
  for (hlo::InstructionIndex index = 0; index < frame.computation().instructions.size(); ++index) {
    if (frame.computation().instructions[index].opcode != Opcode::kConstant) continue;
    MMZ_RETURN_IF_ERROR(EmitComputing(frame, index));
  }
  return absl::OkStatus();
}

absl::Status Placer::EmitInstructions(Frame& frame) {
  step_ = -1;
  MMZ_RETURN_IF_ERROR(EmitConstants(frame));
  for (hlo::InstructionIndex index = 0; index < frame.computation().instructions.size(); ++index) {
    MMZ_RETURN_IF_ERROR(Emit(frame, index));
  }
  return absl::OkStatus();
}

absl::Status Placer::Emit(Frame& frame, hlo::InstructionIndex index) {
  const hlo::Instruction& instruction = frame.computation().instructions[index];
  const auto step = step_of_.find({frame.instance(), index});
  step_ = step == step_of_.end() ? InstructionIndex(-1) : step->second;
  if (step_ >= 0) MMZ_RETURN_IF_ERROR(RunPoints(frame, step_));
  switch (instruction.opcode) {
    case Opcode::kParameter:
    case Opcode::kConstant:
      return absl::OkStatus();
    case Opcode::kWhile:
      return EmitWhile(frame, index);
    case Opcode::kConditional:
      return EmitConditional(frame, index);
    case Opcode::kCall:
      return absl::FailedPreconditionError(
          absl::StrCat("%", instruction.name, ": a call of a computation cannot be placed"));
    default:
      break;
  }
  const bool on_demand = IsMadeOnDemand(instruction.opcode) &&
                         !frame.writer().HasControlDependency(*frame.Original(index));
  return on_demand ? absl::OkStatus() : EmitComputing(frame, index);
}

Memory Placer::MemoryOf(int32_t operand, absl::Span<const int32_t> tuple_index) const {
  if (step_ < 0) return Memory::kHbm;
  const Instruction& instruction = program_.instructions()[step_];
  for (uint32_t k = 0; k < instruction.access_count; ++k) {
    const AccessIndex access = instruction.first_access + k;
    if (mapping_.in_fast_memory[access] == 0) continue;
    for (const v1::Position& position : program_.MessageOf(access).positions()) {
      if (position.operand() == operand &&
          std::equal(position.tuple_index().begin(), position.tuple_index().end(),
                     tuple_index.begin(), tuple_index.end())) {
        return Memory::kFast;
      }
    }
  }
  return Memory::kHbm;
}

absl::StatusOr<int64_t> Placer::Operand(Frame& frame, hlo::InstructionIndex user, int32_t operand) {
  const hlo::Instruction& instruction = frame.computation().instructions[user];
  const hlo::InstructionIndex index = instruction.operands[operand];
  const hlo::Instruction& source = frame.computation().instructions[index];
  if (IsAsyncStart(source.opcode) || source.opcode == Opcode::kAsyncUpdate) {
    return frame.Original(index)->id();
  }
  std::vector<Memory> memories;
  hlo::ForEachLeaf(source.shape, [&](absl::Span<const int32_t> leaf, const hlo::Shape&) {
    memories.push_back(MemoryOf(operand, leaf));
  });
  int32_t missing = 0;
  const absl::optional<int64_t> id = frame.Whole(
      index, [&](int32_t leaf) { return memories[leaf]; }, missing);
  if (id) return *id;
  return NotThere(instruction.name, frame.ValuesOf(index)[missing], memories[missing]);
}

absl::StatusOr<std::vector<int64_t>> Placer::Operands(Frame& frame, hlo::InstructionIndex index) {
  std::vector<int64_t> ids;
  const hlo::Instruction& instruction = frame.computation().instructions[index];
  MMZ_RETURN_IF_ERROR(FinishPrefetch(frame));
  for (int32_t i = 0; i < instruction.operands.size(); ++i) {
    absl::StatusOr<int64_t> id = Operand(frame, index, i);
    if (!id.ok()) return id.status();
    ids.push_back(*id);
  }
  return ids;
}

absl::Status Placer::EmitComputing(Frame& frame, hlo::InstructionIndex index) {
  absl::StatusOr<std::vector<int64_t>> operands = Operands(frame, index);
  if (!operands.ok()) return operands.status();
  xla::HloInstructionProto instruction = *frame.Original(index);
  instruction.mutable_operand_ids()->Assign(operands->begin(), operands->end());
  const int32_t fast_space = program_.hardware().fast_memory_space();
  std::vector<Memory> memories;
  hlo::ForEachLeaf(frame.computation().instructions[index].shape,
                   [&](absl::Span<const int32_t> leaf, const hlo::Shape&) {
                     memories.push_back(MemoryOf(-1, leaf));
                     if (memories.back() != Memory::kFast) return;
                     SetMemorySpace(*instruction.mutable_shape(), leaf, fast_space);
                     ++result_.arrays_in_fast_memory;
                   });
  std::vector<xla::ShapeProto> operand_shapes;
  for (const int64_t id : *operands) operand_shapes.push_back(frame.writer().ShapeOf(id));
  const int stated = instruction.operand_shapes_with_layout_size();
  if (stated > operand_shapes.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("%", instruction.name(), ": expected operand_shapes_with_layout of at most ",
                     operand_shapes.size(), " operands, found ", stated));
  }
  for (int i = 0; i < stated; ++i) {
    *instruction.mutable_operand_shapes_with_layout(i) = operand_shapes[i];
  }
  if (instruction.opcode() == "fusion") {
    MMZ_RETURN_IF_ERROR(SetFusedMemory(editor_, instruction, operand_shapes));
    StateAliases(source_, frame.computation().instructions[index], operand_shapes, fast_space,
                 instruction);
  }
  StripEstimates(instruction);
  const int64_t id = frame.writer().Append(std::move(instruction));
  NameResults(frame, index, id, [&](int32_t leaf) { return memories[leaf]; });
  return absl::OkStatus();
}

void Placer::NameResults(Frame& frame, hlo::InstructionIndex index, int64_t id,
                         absl::FunctionRef<Memory(int32_t)> memory_of) {
  const absl::Span<const ValueId> values = frame.ValuesOf(index);
  const Opcode opcode = frame.computation().instructions[index].opcode;
  const auto makes = [&](ValueId value) {
    const HloValue& made = flow().values()[value];
    return made.instance == frame.instance() && made.instruction == index;
  };
  const bool is_in_flight = IsAsyncStart(opcode) || opcode == Opcode::kAsyncUpdate;
  int32_t leaf = 0;
  hlo::ForEachLeaf(frame.computation().instructions[index].shape,
                   [&](absl::Span<const int32_t> i, const hlo::Shape&) {
                     const ArrayName name{id, hlo::ShapeIndex(i.begin(), i.end())};
                     // An asynchronous start, or the update that brings its operands, names them,
                     // too; they stay what they were.
                     if (is_in_flight && !makes(values[leaf])) {
                       ++leaf;
                       return;
                     }
                     // A value that is only passed on may be in the other memory, too. So may the
                     // constant of a loop's body, which may have been copied before the loop.
                     if (opcode == Opcode::kConstant || !makes(values[leaf])) {
                       frame.SetName(values[leaf], memory_of(leaf), name);
                     } else {
                       frame.SetOnlyName(values[leaf], memory_of(leaf), name);
                     }
                     SetCurrent(values[leaf]);
                     ++leaf;
                   });
}

void Placer::SetCurrent(ValueId value) {
  if (const BufferIndex buffer = source_.BufferOf(value); buffer >= 0) current_[buffer] = value;
}

absl::StatusOr<int64_t> Placer::Root(Frame& frame, absl::FunctionRef<Memory(int32_t)> memory_of) {
  const hlo::InstructionIndex root = frame.computation().root;
  int32_t missing = 0;
  const absl::optional<int64_t> id = frame.Whole(root, memory_of, missing);
  if (id) return *id;
  return NotThere(frame.computation().instructions[root].name, frame.ValuesOf(root)[missing],
                  memory_of(missing));
}

absl::Status Placer::CannotExpress(BufferIndex buffer, absl::string_view why) const {
  std::string name = absl::StrCat("buffer ", buffer);
  for (const v1::Tensor& tensor : program_.proto().tensors()) {
    if (BufferIndex(tensor.buffer()) != buffer) continue;
    absl::StrAppend(&name, " (%", tensor.instruction_name(), ", ", tensor.shape(), ")");
    break;
  }
  return absl::FailedPreconditionError(absl::StrCat(name, ": ", why));
}

absl::Status Placer::NotThere(absl::string_view instruction, ValueId value, Memory memory) const {
  const absl::string_view where = memory == Memory::kFast ? "fast memory" : "HBM";
  const BufferIndex buffer = source_.BufferOf(value);
  const std::string why =
      absl::StrCat("%", instruction, " needs it in ", where,
                   ", where it is not available in the computation of that instruction");
  if (buffer >= 0) return CannotExpress(buffer, why);
  const HloValue& definition = flow().values()[value];
  return absl::FailedPreconditionError(absl::StrCat(
      "%", schedule().ComputationOf(definition.instance).instructions[definition.instruction].name,
      ": ", why));
}

}  // namespace mallocmuzero::place
