#include "simulator/place_check/flights.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "simulator/place_check/in_place.h"

namespace mallocmuzero::place_check {
namespace {

// The target of the custom call that is the root of a fusion's computation; empty if it is none.
absl::string_view TargetOfRoot(const Graph& graph, const Instruction& instruction) {
  if (instruction.kind != Kind::kFusion) return {};
  const Computation& fused = graph.computations[instruction.calls[0]];
  return fused.instructions[fused.root].proto->custom_call_target();
}

class FlightFinder {
 public:
  explicit FlightFinder(const Flow& flow)
      : flow_(flow), graph_(flow.graph()), in_place_(flow.graph()) {}

  ValuesInFlight Find() && {
    for (int c = 0; c < graph_.computations.size(); ++c) {
      if (!graph_.computations[c].controlled) continue;
      // Operands come before their users.
      for (int i = 0; i < graph_.computations[c].instructions.size(); ++i) Visit(c, i);
    }
    return std::move(found_);
  }

 private:
  void Visit(int computation, int index) {
    const Instruction& instruction = graph_.At(computation, index);
    const absl::string_view target = TargetOfRoot(graph_, instruction);
    if (StartsStatedCollective(instruction) || target == "AsyncCollectiveStart") {
      for (const ValueId value : flow_.Of(computation, index)) {
        const Value& made = flow_.value(value);
        if (made.computation == computation && made.instruction == index) found_.insert(value);
      }
    } else if (instruction.kind == Kind::kFusion && target != "AsyncCollectiveDone") {
      PassOn(computation, index);
    }
  }

  void PassOn(int computation, int index) {
    if (found_.empty()) return;
    for (const InPlacePair& pair : in_place_.Pairs(computation, index)) {
      const int operand = graph_.At(computation, index).operands[pair.operand];
      if (!found_.contains(flow_.Leaf(computation, operand, pair.operand_leaf))) continue;
      found_.insert(flow_.Leaf(computation, index, pair.output_leaf));
    }
  }

  const Flow& flow_;
  const Graph& graph_;
  InPlaceRules in_place_;
  ValuesInFlight found_;
};

}  // namespace

ValuesInFlight FindValuesInFlight(const Flow& flow) { return FlightFinder(flow).Find(); }

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
