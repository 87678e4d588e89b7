#include "simulator/place_check/read_only.h"

#include <algorithm>
#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "simulator/place_check/in_place.h"

namespace mallocmuzero::place_check {
namespace {

class ReadOnlyCheck {
 public:
  ReadOnlyCheck(const Flow& flow, const ValuesInFlight& in_flight, Report& report)
      : flow_(flow),
        graph_(flow.graph()),
        in_flight_(in_flight),
        report_(report),
        in_place_(flow.graph()) {
    const Computation& entry = graph_.computations[graph_.entry];
    for (const auto& alias : graph_.proto->input_output_alias().entries()) {
      const int64_t number = alias.parameter_number();
      if (number < 0 || number >= entry.parameters.size()) continue;
      const int parameter = entry.parameters[number];
      const size_t leaf =
          LeafAt(graph_.ShapeOf(graph_.entry, parameter), alias.parameter_shape_index());
      const LeafValues values = flow_.Of(graph_.entry, parameter);
      if (leaf < values.size()) donated_.insert(values[leaf]);
    }
  }

  void CheckUpdates(int computation, int index) {
    for (const InPlacePair& pair : in_place_.Pairs(computation, index)) {
      const int operand = graph_.At(computation, index).operands[pair.operand];
      const ValueId before = flow_.Leaf(computation, operand, pair.operand_leaf);
      const ValueId after = flow_.Leaf(computation, index, pair.output_leaf);
      if (!in_flight_.AreSameArray(before, after)) CheckOverwritten(before, computation, index);
    }
  }

  void CheckLoop(int computation, int index) {
    const Instruction& loop = graph_.At(computation, index);
    const Computation& body = graph_.computations[loop.calls[kBody]];
    if (body.parameters.size() != 1) return;
    const LeafValues initial = flow_.Of(computation, loop.operands[0]);
    const LeafValues carried = flow_.Of(loop.calls[kBody], body.parameters[0]);
    for (size_t i = 0; i < std::min(initial.size(), carried.size()); ++i) {
      if (initial[i] != carried[i]) CheckOverwritten(initial[i], computation, index);
    }
  }

 private:
  void CheckOverwritten(ValueId value, int computation, int index) {
    value = flow_.Stored(value);
    const Value& made = flow_.value(value);
    const bool parameter = made.kind == ValueKind::kParameter && !donated_.contains(value);
    const Instruction& maker = graph_.At(made.computation, made.instruction);
    if (!parameter && maker.proto->opcode() != "constant") return;
    report_.Add(PlacedRule::kReadOnly, graph_.Describe(computation, index), " overwrites ",
                graph_.Describe(made.computation, made.instruction), ", which is ",
                parameter ? "a parameter that is not donated" : "a constant");
  }

  const Flow& flow_;
  const Graph& graph_;
  const ValuesInFlight& in_flight_;
  Report& report_;
  InPlaceRules in_place_;
  absl::flat_hash_set<ValueId> donated_;
};

}  // namespace

void CheckReadOnly(const Flow& flow, const ValuesInFlight& in_flight, Report& report) {
  const Graph& graph = flow.graph();
  ReadOnlyCheck check(flow, in_flight, report);
  for (int c = 0; c < graph.computations.size(); ++c) {
    if (!graph.computations[c].controlled) continue;
    for (int i = 0; i < graph.computations[c].instructions.size(); ++i) {
      const Kind kind = graph.At(c, i).kind;
      if (kind == Kind::kFusion || kind == Kind::kCompute) check.CheckUpdates(c, i);
      if (kind == Kind::kWhile) check.CheckLoop(c, i);
    }
  }
}

}  // namespace mallocmuzero::place_check
