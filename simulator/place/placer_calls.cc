// Loops and conditionals: which values their computations take and return, and in which memory.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simulator/place/placer.h"
#include "simulator/place/shape_edit.h"

namespace mallocmuzero::place {

// The memory in which a value enters a range of instructions that does not change it. Sets
// `also_fast` if a second copy must enter in fast memory.
Memory Placer::MemoryInto(const Frame& frame, ValueId value, InstructionIndex begin,
                          InstructionIndex end, bool& also_fast) const {
  const bool in_hbm = frame.NameOf(value, Memory::kHbm).has_value();
  const BufferIndex buffer = source_.BufferOf(value);
  if (buffer < 0) return Memory::kHbm;
  const CopyPoints::Needs needs = points_.NeedsInside(buffer, begin, end);
  also_fast = needs.fast && needs.hbm;
  if (also_fast || needs.hbm) return Memory::kHbm;
  return needs.fast || !in_hbm ? Memory::kFast : Memory::kHbm;
}

Placer::Handover Placer::HandoverOfLoop(const Frame& frame, const ScheduledLoop& loop,
                                        int32_t loop_index) const {
  const InstructionIndex begin = source_.PricedAtOrAfter(loop.begin);
  const InstructionIndex end = source_.PricedAtOrAfter(loop.end);
  const hlo::Computation& body = schedule().ComputationOf(loop.body);
  const absl::Span<const ValueId> parameters = flow().ValuesOf(loop.body, body.parameters[0]);
  absl::flat_hash_map<ValueId, ValueId> result_of;  // keys are values that the loop changes
  for (const CarriedValue& carried : flow().carried()) {
    if (carried.loop == loop_index) result_of[carried.parameter] = carried.result;
  }
  Handover handover;
  for (const ValueId parameter : parameters) {
    if (const auto result = result_of.find(parameter); result != result_of.end()) {
      const BufferIndex p = source_.BufferOf(parameter);
      const BufferIndex q = source_.BufferOf(result->second);
      const bool fast =
          (p >= 0 && points_.Contains(p, begin)) || (q >= 0 && points_.Contains(q, end));
      handover.memory.push_back(fast ? Memory::kFast : Memory::kHbm);
      continue;
    }
    bool also_fast = false;
    handover.memory.push_back(MemoryInto(frame, parameter, begin, end, also_fast));
    const auto& extra = handover.also_fast;
    if (also_fast && std::find(extra.begin(), extra.end(), parameter) == extra.end()) {
      handover.also_fast.push_back(parameter);
    }
  }
  for (const ValueId constant : hoisted_constants_) {
    const BufferIndex buffer = source_.BufferOf(constant);
    if (frame.NameOf(constant, Memory::kFast) && points_.NeedsInside(buffer, begin, end).fast) {
      handover.also_fast.push_back(constant);
    }
  }
  return handover;
}

Placer::Handover Placer::HandoverOfBranch(const Frame& frame, hlo::InstructionIndex operand,
                                          const PricedRange& branches) const {
  Handover handover;
  for (const ValueId value : frame.ValuesOf(operand)) {
    bool also_fast = false;
    handover.memory.push_back(
        MemoryInto(frame, value, branches.begin - 1, branches.end - 1, also_fast));
    if (also_fast) handover.also_fast.push_back(value);
  }
  return handover;
}

std::vector<Memory> Placer::MemoryOfResults(absl::Span<const ValueId> results,
                                            const PricedRange& branches) const {
  std::vector<Memory> memory;
  for (const ValueId result : results) {
    const BufferIndex buffer = source_.BufferOf(result);
    const bool fast =
        buffer >= 0 && branches.end > branches.begin && points_.Contains(buffer, branches.end - 1);
    memory.push_back(fast ? Memory::kFast : Memory::kHbm);
  }
  return memory;
}

absl::StatusOr<int64_t> Placer::HandIn(Frame& frame, hlo::InstructionIndex operand,
                                       const Handover& handover, absl::string_view taker) {
  int32_t missing = 0;
  const absl::optional<int64_t> id = frame.Whole(
      operand, [&](int32_t leaf) { return handover.memory[leaf]; }, missing);
  if (!id) {
    return NotThere(taker, frame.ValuesOf(operand)[missing], handover.memory[missing]);
  }
  if (handover.also_fast.empty()) return *id;
  const xla::ShapeProto shape = frame.writer().ShapeOf(*id);
  if (shape.element_type() != kTupleType) {
    return CannotExpress(source_.BufferOf(handover.also_fast[0]),
                         absl::StrCat("%", taker, " would need it in both memories"));
  }
  std::vector<int64_t> elements;
  for (int32_t i = 0; i < shape.tuple_shapes_size(); ++i) {
    elements.push_back(frame.writer().Element(*id, {i}, nullptr));
  }
  for (const ValueId value : handover.also_fast) {
    const absl::optional<ArrayName> name = frame.NameOf(value, Memory::kFast);
    if (!name) return NotThere(taker, value, Memory::kFast);
    elements.push_back(frame.writer().Element(name->instruction, name->index, nullptr));
  }
  return frame.writer().Tuple(elements, nullptr);
}

absl::StatusOr<xla::ShapeProto> Placer::EmitCallee(const Callee& callee) {
  const Handover& handover = callee.handover;
  xla::HloComputationProto* computation =
      editor_.FindComputation(schedule().ComputationOf(callee.instance).name);
  ComputationWriter writer(editor_, *computation);
  Frame frame(source_, callee.instance, writer);
  parameter_shape_ = &callee.shape;
  MMZ_RETURN_IF_ERROR(EmitParameters(frame));
  parameter_shape_ = nullptr;
  const hlo::InstructionIndex parameter = frame.computation().parameters[0];
  const int64_t id = frame.Original(parameter)->id();
  const hlo::Shape& original = frame.computation().instructions[parameter].shape;
  const std::vector<hlo::ShapeIndex> leaves = hlo::LeafIndices(original);
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    if (SubShape(callee.shape, leaves[leaf]) == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("%", frame.computation().instructions[parameter].name,
                       ": expected the shape of the operand that the caller hands in"));
    }
    frame.SetName(callee.values[leaf], handover.memory[leaf], {id, leaves[leaf]});
  }
  for (size_t i = 0; i < handover.also_fast.size(); ++i) {
    const int32_t element = original.tuple_shapes.size() + i;
    frame.SetName(handover.also_fast[i], Memory::kFast, {id, {element}});
  }
  MMZ_RETURN_IF_ERROR(EmitInstructions(frame));
  MMZ_RETURN_IF_ERROR(RunPoints(frame, callee.last_point));
  absl::StatusOr<int64_t> root = Root(frame, callee.root_memory);
  if (!root.ok()) return root.status();
  if (callee.returns_extra && !handover.also_fast.empty()) {
    std::vector<int64_t> elements;
    for (int32_t i = 0; i < writer.ShapeOf(*root).tuple_shapes_size(); ++i) {
      elements.push_back(writer.Element(*root, {i}, nullptr));
    }
    for (int32_t i = elements.size(); i < callee.shape.tuple_shapes_size(); ++i) {
      elements.push_back(writer.Element(id, {i}, nullptr));
    }
    *root = writer.Tuple(elements, nullptr);
  }
  xla::ShapeProto result = writer.ShapeOf(*root);
  writer.Finish(*root);
  return result;
}

absl::Status Placer::EmitPasses(const ScheduledLoop& loop, const Handover& handover,
                                const xla::ShapeProto& shape) {
  const hlo::Computation& body = schedule().ComputationOf(loop.body);
  const absl::Span<const ValueId> parameters = flow().ValuesOf(loop.body, body.parameters[0]);
  for (const ValueId value : parameters) SetCurrent(value);
  const absl::StatusOr<xla::ShapeProto> body_result =
      EmitCallee({.instance = loop.body,
                  .shape = shape,
                  .values = parameters,
                  .handover = handover,
                  .last_point = source_.PricedAtOrAfter(loop.end),
                  .root_memory = [&](int32_t leaf) { return handover.memory[leaf]; },
                  .returns_extra = true});
  if (!body_result.ok()) return body_result.status();
  if (!SameShape(*body_result, shape)) {
    return absl::InternalError(
        absl::StrCat("%", body.name, ": returns another shape than it takes"));
  }
  return EmitCallee({.instance = loop.condition,
                     .shape = shape,
                     .values = flow().ValuesOf(loop.body, body.root),
                     .handover = handover,
                     .last_point = source_.PricedAtOrAfter(loop.end),
                     .root_memory = [](int32_t) { return Memory::kHbm; }})
      .status();
}

absl::Status Placer::EmitWhile(Frame& frame, hlo::InstructionIndex index) {
  const hlo::Instruction& instruction = frame.computation().instructions[index];
  const auto& loops = schedule().loops;
  const auto found = std::find_if(loops.begin(), loops.end(), [&](const ScheduledLoop& loop) {
    return loop.instance == frame.instance() && loop.instruction == index;
  });
  const ScheduledLoop& loop = *found;
  MMZ_RETURN_IF_ERROR(RunPoints(frame, source_.PricedAtOrAfter(loop.begin)));
  MMZ_RETURN_IF_ERROR(FinishPrefetchBefore(frame, source_.PricedAtOrAfter(loop.begin),
                                           source_.PricedAtOrAfter(loop.end)));
  const Handover handover = HandoverOfLoop(frame, loop, found - loops.begin());
  absl::StatusOr<int64_t> operand =
      HandIn(frame, instruction.operands[0], handover, instruction.name);
  if (!operand.ok()) return operand.status();
  const xla::ShapeProto shape = frame.writer().ShapeOf(*operand);
  MMZ_RETURN_IF_ERROR(EmitPasses(loop, handover, shape));

  xla::HloInstructionProto written = *frame.Original(index);
  *written.mutable_shape() = shape;
  written.set_operand_ids(0, *operand);
  const int64_t id = frame.writer().Append(std::move(written));
  const std::vector<hlo::ShapeIndex> leaves = hlo::LeafIndices(instruction.shape);
  const hlo::Computation& body = schedule().ComputationOf(loop.body);
  const absl::Span<const ValueId> parameters = flow().ValuesOf(loop.body, body.parameters[0]);
  const absl::Span<const ValueId> roots = flow().ValuesOf(loop.body, body.root);
  const absl::Span<const ValueId> results = frame.ValuesOf(index);
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    // the value is still where it was before the loop
    if (roots[leaf] == parameters[leaf]) continue;
    frame.SetOnlyName(results[leaf], handover.memory[leaf], {id, leaves[leaf]});
    SetCurrent(results[leaf]);
  }
  return absl::OkStatus();
}

absl::Status Placer::EmitConditional(Frame& frame, hlo::InstructionIndex index) {
  const hlo::Instruction& instruction = frame.computation().instructions[index];
  const auto& calls = schedule().calls;
  const ScheduledCall& call =
      *std::find_if(calls.begin(), calls.end(), [&](const ScheduledCall& candidate) {
        return candidate.instance == frame.instance() && candidate.instruction == index;
      });
  xla::HloInstructionProto written = *frame.Original(index);
  const PricedRange range = RangeOfBranches(call);
  MMZ_RETURN_IF_ERROR(FinishPrefetchBefore(frame, range.begin - 1, range.end - 1));
  const std::vector<Memory> memory = MemoryOfResults(frame.ValuesOf(index), range);
  const auto memory_of = [&](int32_t leaf) { return memory[leaf]; };
  absl::StatusOr<int64_t> selector = Operand(frame, index, 0);
  if (!selector.ok()) return selector.status();
  written.set_operand_ids(0, *selector);
  // All operands are made before the conditional, when no branch has begun.
  std::vector<Handover> handovers;
  std::vector<xla::ShapeProto> shapes;
  for (size_t branch = 0; branch < call.callees.size(); ++branch) {
    const hlo::InstructionIndex operand = instruction.operands[branch + 1];
    Handover handover = HandoverOfBranch(frame, operand, range);
    absl::StatusOr<int64_t> id = HandIn(frame, operand, handover, instruction.name);
    if (!id.ok()) return id.status();
    written.set_operand_ids(branch + 1, *id);
    shapes.push_back(frame.writer().ShapeOf(*id));
    handovers.push_back(std::move(handover));
  }
  for (size_t branch = 0; branch < call.callees.size(); ++branch) {
    const hlo::InstructionIndex operand = instruction.operands[branch + 1];
    absl::StatusOr<xla::ShapeProto> result = EmitCallee({.instance = call.callees[branch],
                                                         .shape = shapes[branch],
                                                         .values = frame.ValuesOf(operand),
                                                         .handover = handovers[branch],
                                                         .last_point = next_point_ - 1,
                                                         .root_memory = memory_of});
    if (!result.ok()) return result.status();
    *written.mutable_shape() = *std::move(result);
  }
  const int64_t id = frame.writer().Append(std::move(written));
  NameResults(frame, index, id, memory_of);
  return absl::OkStatus();
}

// The range of priced steps that contains all branches, one behind the other, with what they call.
Placer::PricedRange Placer::RangeOfBranches(const ScheduledCall& call) const {
  const std::vector<Step>& steps = schedule().steps;
  const auto first = std::find_if(steps.begin(), steps.end(), [&](const Step& step) {
    return step.instance == call.callees[0];
  });
  const auto own = std::find_if(first, steps.end(), [&](const Step& step) {
    return step.instance == call.instance && step.instruction == call.instruction;
  });
  return {.begin = source_.PricedAtOrAfter(first - steps.begin()),
          .end = source_.PricedAtOrAfter(own - steps.begin())};
}

}  // namespace mallocmuzero::place
