#include "simulator/place_check/flights.h"

#include <cstddef>
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
    size_t before = 0;
    do {  // a loop hands its values to a computation that may come before that of the loop
      before = found_.size();
      for (int c = 0; c < graph_.computations.size(); ++c) {
        if (!graph_.computations[c].controlled) continue;
        for (int i = 0; i < graph_.computations[c].instructions.size(); ++i) Visit(c, i);
      }
    } while (found_.size() > before);
    return std::move(found_);
  }

 private:
  // Adds the values in flight that an instruction makes.
  void Visit(int computation, int index) {
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

  void Start(int computation, int index) {
    if (graph_.At(computation, index).kind == Kind::kFusion) StartFusion(computation, index);
    for (const ValueId value : flow_.Of(computation, index)) {
      if (flow_.value(value).IsMadeBy(computation, index)) found_.Add(value, value);
    }
  }

  // The operands that a fusion passes on keep their bytes, unlike one that a permute fills.
  void StartFusion(int computation, int index) {
    for (const InPlacePair& pair : in_place_.Pairs(computation, index)) {
      const int operand = graph_.At(computation, index).operands[pair.operand];
      const ValueId value = flow_.Leaf(computation, index, pair.output_leaf);
      if (!flow_.value(value).IsMadeBy(computation, index)) continue;
      found_.Add(value, flow_.Leaf(computation, operand, pair.operand_leaf));
    }
  }

  void PassOn(int computation, int index) {
    if (found_.empty()) return;
    for (const InPlacePair& pair : in_place_.Pairs(computation, index)) {
      const int operand = graph_.At(computation, index).operands[pair.operand];
      const ValueId passed = flow_.Leaf(computation, operand, pair.operand_leaf);
      if (!found_.contains(passed)) continue;
      found_.Add(flow_.Leaf(computation, index, pair.output_leaf), passed);
    }
  }

  void EnterLoop(int computation, int index) {
    if (found_.empty()) return;
    const int body = graph_.At(computation, index).calls[kBody];
    LeafValues changed = flow_.Of(computation, index);
    for (const int parameter : graph_.computations[body].parameters) {
      const LeafValues carried = flow_.Of(body, parameter);
      changed.insert(changed.end(), carried.begin(), carried.end());
    }
    for (const ValueId value : changed) {
      const Value& made = flow_.value(value);
      if (!made.IsMadeBy(computation, index) || made.source == kNoValue) continue;
      const ValueId initial = flow_.Resolve(made.source);
      if (found_.contains(initial)) found_.Add(value, initial);
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
