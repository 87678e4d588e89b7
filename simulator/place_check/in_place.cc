#include "simulator/place_check/in_place.h"

#include <algorithm>

#include "simulator/place_check/shapes.h"

namespace mallocmuzero::place_check {
namespace {

// The number of leaves of element `number` of a tuple; 0 if there is no such element.
size_t LeavesOfElement(const xla::ShapeProto& tuple, int number) {
  return number < tuple.tuple_shapes_size() ? LeafCount(tuple.tuple_shapes(number)) : 0;
}

// Appends the pairs of an instruction that hands on what the start of an asynchronous operation
// makes. The shape of a start or an update is (operands, results, contexts), that of a recv (what
// it gets, context, token), and that of its done (what it got, token).
void AppendHandedOn(const Graph& graph, int computation, const Instruction& instruction,
                    std::vector<InPlacePair>& pairs) {
  if (instruction.operands.empty()) return;
  const std::string& opcode = instruction.proto->opcode();
  const xla::ShapeProto& shape = instruction.proto->shape();
  const xla::ShapeProto& start = graph.ShapeOf(computation, instruction.operands[0]);
  size_t first = 0;
  size_t first_of_start = LeavesOfElement(start, 0);
  size_t count = 0;
  if (EndsStatedCollective(instruction) || opcode == "async-done") {
    count = LeafCount(shape);
  } else if (opcode == "async-update") {
    first = LeavesOfElement(shape, 0);
    // A start without operands does not name the results either.
    if (LeavesOfElement(start, 1) > 0) count = LeavesOfElement(shape, 1);
  } else if (opcode == "recv-done") {
    first_of_start = 0;
    count = LeavesOfElement(shape, 0);
  }
  for (size_t i = 0; i < count; ++i) pairs.push_back({first + i, 0, first_of_start + i});
}

// The pairs of an instruction that is no fusion, without a check of the operands' shapes.
std::vector<InPlacePair> OwnPairs(const Graph& graph, int computation,
                                  const Instruction& instruction) {
  std::vector<InPlacePair> pairs;
  const std::string& opcode = instruction.proto->opcode();
  const size_t operands = instruction.operands.size();
  const bool updates = opcode == "dynamic-update-slice" || opcode == "set-dimension-size";
  if (updates && operands > 0) pairs.push_back({0, 0, 0});
  if (opcode == "ragged-all-to-all" && operands > 1) pairs.push_back({0, 1, 0});
  if (IsPermuteOfSlices(graph, computation, instruction)) {
    const bool starts = StartsStatedCollective(instruction);
    const size_t first = starts ? LeavesOfElement(instruction.proto->shape(), 0) : 0;
    const xla::ShapeProto& filled = graph.ShapeOf(computation, instruction.operands[1]);
    for (size_t i = 0; i < LeafCount(filled); ++i) pairs.push_back({first + i, 1, i});
  }
  if (opcode == "scatter") {  // operands are n inputs, the indices, n updates
    for (size_t i = 0; i < operands / 2; ++i) pairs.push_back({i, i, 0});
  }
  AppendHandedOn(graph, computation, instruction, pairs);
  for (const xla::OutputOperandAliasing& alias : instruction.proto->output_operand_aliasing()) {
    if (alias.operand_index() < 0 || alias.operand_index() >= operands) continue;
    const size_t operand = alias.operand_index();
    const xla::ShapeProto& shape = graph.ShapeOf(computation, instruction.operands[operand]);
    pairs.push_back({LeafAt(instruction.proto->shape(), alias.output_shape_index()), operand,
                     LeafAt(shape, alias.operand_shape_index())});
  }
  return pairs;
}

}  // namespace

size_t LeafAt(const xla::ShapeProto& shape, const google::protobuf::RepeatedField<int64_t>& index) {
  size_t leaf = 0;
  const xla::ShapeProto* part = &shape;
  for (const int64_t number : index) {
    if (!IsTuple(*part) || number < 0 || number >= part->tuple_shapes_size()) {
      return LeafCount(shape);
    }
    for (int i = 0; i < number; ++i) leaf += LeafCount(part->tuple_shapes(i));
    part = &part->tuple_shapes(number);
  }
  return IsTuple(*part) ? LeafCount(shape) : leaf;
}

bool IsPermuteOfSlices(const Graph& graph, int computation, const Instruction& instruction) {
  const std::string& opcode = instruction.proto->opcode();
  const bool starts = opcode == "collective-permute-start";
  if ((!starts && opcode != "collective-permute") || instruction.operands.size() != 4) return false;
  const xla::ShapeProto* results = &instruction.proto->shape();
  if (starts) {
    if (results->tuple_shapes_size() < 2) return false;
    results = &results->tuple_shapes(1);
  }
  return SameButForSpaces(graph.ShapeOf(computation, instruction.operands[1]), *results);
}

std::vector<InPlacePair> InPlaceRules::Pairs(int computation, int index) {
  const Instruction& instruction = graph_.At(computation, index);
  std::vector<InPlacePair> pairs = OwnPairs(graph_, computation, instruction);
  const size_t leaves = LeafCount(instruction.proto->shape());
  if (instruction.kind == Kind::kFusion) {
    const int fused = instruction.calls[0];
    const size_t known = LeafCount(graph_.RootShape(fused));
    for (size_t leaf = 0; leaf < std::min(leaves, known); ++leaf) {
      const Source source = Trace(fused, leaf);
      if (source.kind != Source::Kind::kOverwritten) continue;
      pairs.push_back({leaf, source.parameter, source.leaf});
    }
  }
  std::erase_if(pairs, [&](const InPlacePair& pair) {
    return pair.output_leaf >= leaves || pair.operand >= instruction.operands.size() ||
           pair.operand_leaf >=
               LeafCount(graph_.ShapeOf(computation, instruction.operands[pair.operand]));
  });
  return pairs;
}

std::vector<InPlacePair> InPlaceRules::PassedOn(int computation, int index) {
  const int fused = graph_.At(computation, index).calls[0];
  std::vector<InPlacePair> pairs = Pairs(computation, index);
  std::erase_if(pairs, [&](const InPlacePair& pair) {
    if (pair.output_leaf >= LeafCount(graph_.RootShape(fused))) return true;
    const Source source = Trace(fused, pair.output_leaf);
    return source.kind != Source::Kind::kReturned || source.parameter != pair.operand ||
           source.leaf != pair.operand_leaf;
  });
  return pairs;
}

InPlaceRules::Source InPlaceRules::Trace(int computation, size_t leaf) {
  const auto known = traced_.find({computation, leaf});
  if (known != traced_.end()) return known->second;
  const Source source = TraceUncached(computation, leaf);
  traced_[{computation, leaf}] = source;
  return source;
}

InPlaceRules::Source InPlaceRules::TraceUncached(int computation, size_t leaf) {
  int updates = 0;
  for (int index = graph_.computations[computation].root;;) {
    const Instruction& instruction = graph_.At(computation, index);
    switch (instruction.kind) {
      case Kind::kParameter: {
        const size_t parameter = instruction.proto->parameter_number();
        return {updates > 0 ? Source::Kind::kOverwritten : Source::Kind::kReturned, parameter,
                leaf};
      }
      case Kind::kTuple: {
        size_t operand = 0;
        for (; operand < instruction.operands.size(); ++operand) {
          const size_t count =
              LeafCount(graph_.ShapeOf(computation, instruction.operands[operand]));
          if (leaf < count) break;
          leaf -= count;
        }
        if (operand == instruction.operands.size()) return {};
        index = instruction.operands[operand];
        break;
      }
      case Kind::kElement: {
        const xla::ShapeProto& tuple = graph_.ShapeOf(computation, instruction.operands[0]);
        const int64_t number = instruction.proto->tuple_index();
        if (!IsTuple(tuple) || number < 0 || number >= tuple.tuple_shapes_size()) return {};
        for (int i = 0; i < number; ++i) leaf += LeafCount(tuple.tuple_shapes(i));
        index = instruction.operands[0];
        break;
      }
      case Kind::kBitcast:
        index = instruction.operands[0];
        break;
      case Kind::kFusion:
      case Kind::kCompute: {
        if (updates > 1 || (updates == 1 && instruction.kind != Kind::kFusion)) return {};
        const InPlacePair* taken = nullptr;
        const std::vector<InPlacePair> pairs = Pairs(computation, index);
        for (const InPlacePair& pair : pairs) {
          if (pair.output_leaf == leaf) taken = &pair;
        }
        if (taken == nullptr) return {};
        ++updates;
        leaf = taken->operand_leaf;
        index = instruction.operands[taken->operand];
        break;
      }
      default:
        return {};
    }
    if (leaf >= LeafCount(graph_.ShapeOf(computation, index))) return {};
  }
}

}  // namespace mallocmuzero::place_check
