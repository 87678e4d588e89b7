#include "simulator/place/frame.h"

#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "simulator/place/shape_edit.h"

namespace mallocmuzero::place {
namespace {

using hlo::Opcode;

// The operand of a tuple that contains the leaf, and the leaf's number within that operand.
std::pair<hlo::InstructionIndex, int32_t> TupleOperand(const hlo::Computation& computation,
                                                       const hlo::Instruction& tuple,
                                                       int32_t leaf) {
  for (const hlo::InstructionIndex operand : tuple.operands) {
    const int32_t count = hlo::LeafCount(computation.instructions[operand].shape);
    if (leaf < count) return {operand, leaf};
    leaf -= count;
  }
  return {-1, 0};
}

// The leaf of a get-tuple-element's operand that is leaf `leaf` of the get-tuple-element.
int32_t LeafOfOperand(const hlo::Shape& operand, int32_t element, int32_t leaf) {
  for (int32_t i = 0; i < element; ++i) leaf += hlo::LeafCount(operand.tuple_shapes[i]);
  return leaf;
}

}  // namespace

void Frame::SetName(ValueId value, Memory memory, ArrayName name) {
  names_[value][memory] = std::move(name);
}

void Frame::SetOnlyName(ValueId value, Memory memory, ArrayName name) {
  names_[value] = {};
  SetName(value, memory, std::move(name));
}

absl::optional<ArrayName> Frame::NameOf(ValueId value, Memory memory) const {
  const auto found = names_.find(value);
  if (found == names_.end()) return absl::nullopt;
  return found->second[memory];
}

int64_t Frame::Materialize(const ArrayName& name, const xla::HloInstructionProto* named) {
  return writer_.Element(name.instruction, name.index, named);
}

// No recursion: a module may have any number of bitcasts one behind the other.
absl::optional<int64_t> Frame::View(hlo::InstructionIndex index, int32_t leaf, Memory memory) {
  std::vector<hlo::InstructionIndex> bitcasts;  // from the array back to its maker
  while (true) {
    const hlo::Instruction& instruction = computation().instructions[index];
    if (instruction.opcode == Opcode::kTuple) {
      std::tie(index, leaf) = TupleOperand(computation(), instruction, leaf);
    } else if (instruction.opcode == Opcode::kGetTupleElement && !TakesArrayOfMaker(index)) {
      const hlo::InstructionIndex operand = instruction.operands[0];
      leaf =
          LeafOfOperand(computation().instructions[operand].shape, *instruction.tuple_index, leaf);
      index = operand;
    } else if (instruction.opcode == Opcode::kBitcast) {
      bitcasts.push_back(index);
      index = instruction.operands[0];
      leaf = 0;
    } else {
      break;
    }
  }
  absl::optional<int64_t> array = ViewOfMaker(index, leaf, memory);
  for (; array && !bitcasts.empty(); bitcasts.pop_back()) {
    const xla::HloInstructionProto* const original = Original(bitcasts.back());
    array = writer_.Bitcast(*array, original->shape(), original);
  }
  return array;
}

// True if a get-tuple-element takes an array directly from the instruction that makes the tuple.
bool Frame::TakesArrayOfMaker(hlo::InstructionIndex element) const {
  const hlo::Instruction& instruction = computation().instructions[element];
  const Opcode from = computation().instructions[instruction.operands[0]].opcode;
  return !instruction.shape.IsTuple() && from != Opcode::kTuple && from != Opcode::kGetTupleElement;
}

// The array of an instruction that is no tuple and no bitcast.
absl::optional<int64_t> Frame::ViewOfMaker(hlo::InstructionIndex index, int32_t leaf,
                                           Memory memory) {
  const hlo::Instruction& instruction = computation().instructions[index];
  const ValueId value = ValuesOf(index)[leaf];
  absl::optional<ArrayName> name = NameOf(value, memory);
  if (!name) return absl::nullopt;
  const xla::HloInstructionProto* named = nullptr;
  if (instruction.opcode == Opcode::kGetTupleElement) {
    named = Original(index);
    PreferOwnElement(index, *name);
  }
  const int64_t array = Materialize(*name, named);
  // A value that a loop or a branch hands on may have been made with another shape.
  const hlo::ShapeIndex place = hlo::LeafIndices(instruction.shape)[leaf];
  const xla::ShapeProto& shape = *SubShape(Original(index)->shape(), place);
  if (SameButForMemory(shape, writer_.ShapeOf(array))) return array;
  return writer_.Bitcast(array, shape, nullptr);
}

// A loop may take one value in two elements. Then the body must return each element from itself: if
// it returned one in place of the other, the compiler would assume that the loop overwrites the
// element.
void Frame::PreferOwnElement(hlo::InstructionIndex element, ArrayName& name) const {
  const hlo::Instruction& instruction = computation().instructions[element];
  const hlo::InstructionIndex parameter = instruction.operands[0];
  if (computation().instructions[parameter].opcode != Opcode::kParameter) return;
  if (name.instruction != Original(parameter)->id()) return;
  const xla::ShapeProto& taken = writer_.ShapeOf(name.instruction);
  const int32_t number = *instruction.tuple_index;
  const hlo::ShapeIndex own = {number};
  if (SubShape(taken, own)->layout().memory_space() ==
      SubShape(taken, name.index)->layout().memory_space()) {
    name.index = own;
  }
}

// True if one appended instruction already has all leaves in the requested memories, and nothing
// else. Sets `id` to it.
bool Frame::IsWhole(hlo::InstructionIndex index, absl::FunctionRef<Memory(int32_t)> memory_of,
                    int64_t& id) const {
  const hlo::Instruction& instruction = computation().instructions[index];
  if (instruction.opcode == Opcode::kTuple) return false;
  bool whole = true;
  int32_t leaf = 0;
  hlo::ForEachLeaf(instruction.shape, [&](absl::Span<const int32_t> i, const hlo::Shape&) {
    const absl::optional<ArrayName> name = NameOf(ValuesOf(index)[leaf], memory_of(leaf));
    whole = whole && name && absl::MakeConstSpan(name->index) == i &&
            (leaf == 0 || name->instruction == id);
    if (whole) id = name->instruction;
    ++leaf;
  });
  // The parameter of a loop's body may have more elements than it had.
  return whole && leaf > 0 && SameButForMemory(Original(index)->shape(), writer_.ShapeOf(id));
}

absl::optional<int64_t> Frame::Whole(hlo::InstructionIndex index,
                                     absl::FunctionRef<Memory(int32_t)> memory_of,
                                     int32_t& missing) {
  const hlo::Instruction& instruction = computation().instructions[index];
  int64_t id = 0;
  if (instruction.shape.IsTuple() && IsWhole(index, memory_of, id)) return id;
  int32_t leaf = 0;
  const std::function<absl::optional<int64_t>(const hlo::Shape&, const xla::HloInstructionProto*)>
      build = [&](const hlo::Shape& shape,
                  const xla::HloInstructionProto* named) -> absl::optional<int64_t> {
    if (!shape.IsTuple()) {
      missing = leaf;
      const absl::optional<int64_t> array = View(index, leaf, memory_of(leaf));
      ++leaf;
      return array;
    }
    std::vector<int64_t> elements;
    for (const hlo::Shape& part : shape.tuple_shapes) {
      const absl::optional<int64_t> element = build(part, nullptr);
      if (!element) return absl::nullopt;
      elements.push_back(*element);
    }
    return writer_.Tuple(elements, named);
  };
  return build(instruction.shape, instruction.opcode == Opcode::kTuple ? Original(index) : nullptr);
}

}  // namespace mallocmuzero::place
