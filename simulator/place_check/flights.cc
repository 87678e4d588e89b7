#include "simulator/place_check/flights.h"

#include <cstddef>

#include "absl/strings/string_view.h"

namespace mallocmuzero::place_check {
namespace {

// The target of the custom call that is the root of a fusion's computation; empty if it is none.
absl::string_view TargetOfRoot(const Graph& graph, const Instruction& instruction) {
  if (instruction.kind != Kind::kFusion) return {};
  const Computation& fused = graph.computations[instruction.calls[0]];
  return fused.instructions[fused.root].proto->custom_call_target();
}

bool IsMadeBy(const Value& value, int computation, int index) {
  return value.computation == computation && value.instruction == index;
}

}  // namespace

ValuesInFlight::ValuesInFlight(const Flow& flow)
    : flow_(flow), graph_(flow.graph()), in_place_(flow.graph()) {
  size_t before = 0;
  do {  // a loop hands its values to a computation that may come before that of the loop
    before = array_of_.size();
    for (int c = 0; c < graph_.computations.size(); ++c) {
      if (!graph_.computations[c].controlled) continue;
      for (int i = 0; i < graph_.computations[c].instructions.size(); ++i) Visit(c, i);
    }
  } while (array_of_.size() > before);
}

void ValuesInFlight::Visit(int computation, int index) {
  const Instruction& instruction = graph_.At(computation, index);
  const absl::string_view target = TargetOfRoot(graph_, instruction);
  if (StartsStatedCollective(instruction) || target == "AsyncCollectiveStart") {
    Start(computation, index);
  } else if (instruction.kind == Kind::kFusion && target != "AsyncCollectiveDone") {
    PassOn(computation, index);
  } else if (instruction.kind == Kind::kWhile) {
    EnterLoop(computation, index);
  }
}

void ValuesInFlight::Start(int computation, int index) {
  for (const InPlacePair& pair : in_place_.Pairs(computation, index)) {
    const int operand = graph_.At(computation, index).operands[pair.operand];
    const ValueId value = flow_.Leaf(computation, index, pair.output_leaf);
    if (!IsMadeBy(flow_.value(value), computation, index)) continue;
    Add(value, flow_.Leaf(computation, operand, pair.operand_leaf));
  }
  for (const ValueId value : flow_.Of(computation, index)) {
    if (IsMadeBy(flow_.value(value), computation, index)) Add(value, value);
  }
}

void ValuesInFlight::PassOn(int computation, int index) {
  if (empty()) return;
  for (const InPlacePair& pair : in_place_.Pairs(computation, index)) {
    const int operand = graph_.At(computation, index).operands[pair.operand];
    const ValueId passed = flow_.Leaf(computation, operand, pair.operand_leaf);
    if (contains(passed)) Add(flow_.Leaf(computation, index, pair.output_leaf), passed);
  }
}

void ValuesInFlight::EnterLoop(int computation, int index) {
  if (empty()) return;
  const int body = graph_.At(computation, index).calls[kBody];
  LeafValues changed = flow_.Of(computation, index);
  for (const int parameter : graph_.computations[body].parameters) {
    const LeafValues carried = flow_.Of(body, parameter);
    changed.insert(changed.end(), carried.begin(), carried.end());
  }
  for (const ValueId value : changed) {
    const Value& made = flow_.value(value);
    if (!IsMadeBy(made, computation, index) || made.source == kNoValue) continue;
    const ValueId initial = flow_.Resolve(made.source);
    if (contains(initial)) Add(value, initial);
  }
}

void CheckFlights(const Flow& placed, const ValuesInFlight& in_flight, Report& report) {
  if (in_flight.empty()) return;
  const Graph& graph = placed.graph();
  for (int c = 0; c < graph.computations.size(); ++c) {
    if (!graph.computations[c].controlled) continue;
    for (int i = 0; i < graph.computations[c].instructions.size(); ++i) {
      const Instruction& move = graph.At(c, i);
      if (move.kind != Kind::kCopyStart && move.kind != Kind::kSliceStart) continue;
      for (const ValueId value : placed.Of(c, move.operands[0])) {
        if (!in_flight.contains(value)) continue;
        report.Add(PlacedRule::kMoveInFlight, graph.Describe(c, i),
                   " copies an array on which a collective in flight works");
      }
    }
  }
}

}  // namespace mallocmuzero::place_check
