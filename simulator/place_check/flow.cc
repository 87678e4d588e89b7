#include "simulator/place_check/flow.h"

#include <utility>

#include "base/size32.h"

namespace mallocmuzero::place_check {

Flow::Flow(const Graph& graph)
    : graph_(graph), in_place_(graph), leaves_(graph.computations.size()) {
  const Computation& entry = graph.computations[graph.entry];
  std::vector<LeafValues> parameters;
  for (const int index : entry.parameters) {
    parameters.push_back(Fresh(ValueKind::kParameter, graph.entry, index));
  }
  Run(graph.entry, parameters);
}

LeafValues Flow::Of(int computation, int instruction) const {
  LeafValues values = leaves_[computation][instruction];
  for (ValueId& value : values) value = Resolve(value);
  return values;
}

LeafValues Flow::OfRoot(int computation) const {
  return Of(computation, graph_.computations[computation].root);
}

ValueId Flow::Leaf(int computation, int instruction, size_t leaf) const {
  return Resolve(leaves_[computation][instruction][leaf]);
}

ValueId Flow::Resolve(ValueId id) const {
  while (same_as_[id] != id) id = same_as_[id];
  return id;
}

ValueId Flow::Stored(ValueId id) const {
  for (id = Resolve(id); values_[id].viewed != kNoValue;) id = Resolve(values_[id].viewed);
  return id;
}

ValueId Flow::Add(ValueKind kind, int computation, int instruction, int leaf, ValueId source) {
  values_.push_back({.kind = kind,
                     .computation = computation,
                     .instruction = instruction,
                     .leaf = leaf,
                     .source = source});
  same_as_.push_back(size() - 1);
  return size() - 1;
}

LeafValues Flow::Fresh(ValueKind kind, int computation, int index) {
  LeafValues values;
  for (const xla::ShapeProto* leaf : Leaves(graph_.ShapeOf(computation, index))) {
    values.push_back(Add(kind, computation, index, Size32(values)));
    values_.back().shape = leaf;
  }
  return values;
}

const LeafValues& Flow::Operand(int computation, int index, size_t operand) const {
  return leaves_[computation][graph_.At(computation, index).operands[operand]];
}

void Flow::Run(int computation, const std::vector<LeafValues>& parameters) {
  const Computation& run = graph_.computations[computation];
  leaves_[computation].resize(run.instructions.size());
  for (int i = 0; i < run.instructions.size(); ++i) {
    LeafValues values;
    if (run.instructions[i].kind == Kind::kParameter) {
      const size_t number = run.instructions[i].proto->parameter_number();
      if (number < parameters.size()) values = parameters[number];
    } else {
      values = Evaluate(computation, i);
    }
    // Shapes that do not agree are reported by CheckShapes.
    if (values.size() != LeafCount(run.instructions[i].proto->shape())) {
      values = Fresh(ValueKind::kResult, computation, i);
    }
    leaves_[computation][i] = std::move(values);
  }
}

LeafValues Flow::Evaluate(int computation, int index) {
  const Instruction& instruction = graph_.At(computation, index);
  switch (instruction.kind) {
    case Kind::kTuple: {
      LeafValues all;
      for (size_t i = 0; i < instruction.operands.size(); ++i) {
        const LeafValues& part = Operand(computation, index, i);
        all.insert(all.end(), part.begin(), part.end());
      }
      return all;
    }
    case Kind::kElement:
      return Element(computation, instruction);
    case Kind::kBitcast:
      return Bitcast(computation, index);
    case Kind::kCopyStart:
      return CopyStart(computation, index);
    case Kind::kCopyDone: {
      const Kind start = graph_.At(computation, instruction.operands[0]).kind;
      const LeafValues& parts = Operand(computation, index, 0);
      if (start != Kind::kCopyStart || parts.empty()) return {};
      return {parts[0]};  // the destination
    }
    case Kind::kBarrier:
      return Operand(computation, index, 0);
    case Kind::kWhile:
      return Loop(computation, index);
    case Kind::kConditional:
      return Conditional(computation, index);
    case Kind::kCall:
      return Call(computation, index);
    case Kind::kCompute:
      return Compute(computation, index);
    case Kind::kFusion:
      return Fusion(computation, index);
    case Kind::kParameter:
      break;
  }
  return Fresh(ValueKind::kResult, computation, index);
}

// The start of a collective passes its operands on, beside the results that it makes.
LeafValues Flow::Compute(int computation, int index) {
  const Instruction& instruction = graph_.At(computation, index);
  LeafValues values = Fresh(ValueKind::kResult, computation, index);
  const xla::ShapeProto& shape = instruction.proto->shape();
  if (!StartsStatedCollective(instruction) || shape.tuple_shapes_size() == 0) return values;
  const size_t count = LeafCount(shape.tuple_shapes(0));
  size_t leaf = 0;
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    for (const ValueId value : Operand(computation, index, i)) {
      if (leaf < count) values[leaf++] = value;
    }
  }
  return values;
}

// A fusion passes on the operands that its computation returns as they are, if it states that they
// keep their buffers.
LeafValues Flow::Fusion(int computation, int index) {
  LeafValues values = Fresh(ValueKind::kResult, computation, index);
  for (const InPlacePair& pair : in_place_.PassedOn(computation, index)) {
    ValueId& value = values[pair.output_leaf];
    const ValueId operand = Operand(computation, index, pair.operand)[pair.operand_leaf];
    if (SpaceOf(*values_[operand].shape) == SpaceOf(*values_[value].shape)) value = operand;
  }
  return values;
}

LeafValues Flow::Element(int computation, const Instruction& element) const {
  const xla::ShapeProto& shape = graph_.ShapeOf(computation, element.operands[0]);
  const int64_t number = element.proto->tuple_index();
  if (!IsTuple(shape) || number < 0 || number >= shape.tuple_shapes_size()) return {};
  size_t begin = 0;
  for (int64_t i = 0; i < number; ++i) begin += LeafCount(shape.tuple_shapes(i));
  const size_t count = LeafCount(shape.tuple_shapes(number));
  const LeafValues& all = leaves_[computation][element.operands[0]];
  return LeafValues(all.begin() + begin, all.begin() + begin + count);
}

LeafValues Flow::CopyStart(int computation, int index) {
  const LeafValues& operand = Operand(computation, index, 0);
  LeafValues values = Fresh(ValueKind::kMoved, computation, index);
  if (values.size() != 3 || operand.size() != 1) return values;
  const Instruction& start = graph_.At(computation, index);
  if (SameButForSpaces(start.proto->shape().tuple_shapes(0),
                       graph_.ShapeOf(computation, start.operands[0]))) {
    values_[values[0]].source = operand[0];
  }
  return {values[0], operand[0], values[2]};
}

LeafValues Flow::Bitcast(int computation, int index) {
  const Instruction& bitcast = graph_.At(computation, index);
  const LeafValues& operand = Operand(computation, index, 0);
  const xla::ShapeProto& from = graph_.ShapeOf(computation, bitcast.operands[0]);
  if (operand.size() != 1 || ByteSize(from) == ByteSize(bitcast.proto->shape())) return operand;
  LeafValues values = Fresh(ValueKind::kViewed, computation, index);
  if (values.size() != 1) return values;
  const ValueId source = Resolve(operand[0]);
  values_[values[0]].source = operand[0];
  values_[values[0]].viewed = values_[source].viewed == kNoValue ? source : values_[source].viewed;
  return values;
}

LeafValues Flow::Loop(int computation, int index) {
  const Instruction& loop = graph_.At(computation, index);
  const LeafValues initial = Operand(computation, index, 0);
  LeafValues carried = Fresh(ValueKind::kCarried, computation, index);
  LeafValues results = Fresh(ValueKind::kLoopResult, computation, index);
  const bool agree = initial.size() == carried.size();
  for (size_t i = 0; i < carried.size() && agree; ++i) {
    values_[carried[i]].source = initial[i];
    values_[results[i]].source = initial[i];
  }
  Run(loop.calls[kCondition], {carried});
  Run(loop.calls[kBody], {carried});
  const LeafValues roots = OfRoot(loop.calls[kBody]);
  if (!agree || roots.size() != carried.size()) return results;
  for (size_t i = 0; i < carried.size(); ++i) {
    if (roots[i] != carried[i]) continue;
    // Resolved, so that a value on its way through many loops is no long chain.
    same_as_[carried[i]] = same_as_[results[i]] = Resolve(initial[i]);
  }
  return results;
}

LeafValues Flow::Conditional(int computation, int index) {
  const Instruction& conditional = graph_.At(computation, index);
  for (size_t i = 0; i < conditional.calls.size(); ++i) {
    const LeafValues operand = Operand(computation, index, i + 1);
    Run(conditional.calls[i], {operand});
  }
  return Fresh(ValueKind::kBranchResult, computation, index);
}

LeafValues Flow::Call(int computation, int index) {
  const Instruction& call = graph_.At(computation, index);
  std::vector<LeafValues> operands;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    operands.push_back(Operand(computation, index, i));
  }
  Run(call.calls[0], operands);
  return OfRoot(call.calls[0]);
}

}  // namespace mallocmuzero::place_check
