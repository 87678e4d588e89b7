#include "simulator/place_check/flights.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
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

// True if the computation of a fusion has a collective in it, as that of every fusion of a chain.
bool HasCollective(const Graph& graph, const Instruction& fusion) {
  constexpr absl::string_view kCollectives[] = {
      "all-gather",         "all-reduce",        "all-to-all",    "collective-broadcast",
      "collective-permute", "ragged-all-to-all", "reduce-scatter"};
  const std::vector<Instruction>& parts = graph.computations[fusion.calls[0]].instructions;
  return std::any_of(parts.begin(), parts.end(), [&](const Instruction& part) {
    return std::find(std::begin(kCollectives), std::end(kCollectives), part.proto->opcode()) !=
           std::end(kCollectives);
  });
}

class FlightFinder {
 public:
  explicit FlightFinder(const Flow& flow)
      : flow_(flow), graph_(flow.graph()), in_place_(flow.graph()) {}

  ValuesInFlight Find() && {
    do {
      found_ = {};
      size_t before = 0;
      do {  // a loop hands its values to a computation that may come before that of the loop
        before = found_.size();
        VisitAll();
      } while (found_.size() > before);
    } while (FindChanged());
    return std::move(found_);
  }

 private:
  void VisitAll() {
    for (int c = 0; c < graph_.computations.size(); ++c) {
      if (!graph_.computations[c].controlled) continue;
      for (int i = 0; i < graph_.computations[c].instructions.size(); ++i) Visit(c, i);
    }
  }

  // Adds the values in flight that an instruction makes.
  void Visit(int computation, int index) {
    const Instruction& instruction = graph_.At(computation, index);
    const absl::string_view target = TargetOfRoot(graph_, instruction);
    if (StartsStatedCollective(instruction) || target == "AsyncCollectiveStart") {
      Start(computation, index);
    } else if (instruction.kind == Kind::kFusion) {
      if (target != "AsyncCollectiveDone" && HasCollective(graph_, instruction)) {
        PassOn(computation, index);
      }
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

  // The values that a loop carries, and those that it results in.
  LeafValues OfLoop(int computation, int index) const {
    const int body = graph_.At(computation, index).calls[kBody];
    LeafValues values = flow_.Of(computation, index);
    for (const int parameter : graph_.computations[body].parameters) {
      const LeafValues carried = flow_.Of(body, parameter);
      values.insert(values.end(), carried.begin(), carried.end());
    }
    return values;
  }

  void EnterLoop(int computation, int index) {
    if (found_.empty()) return;
    for (const ValueId value : OfLoop(computation, index)) {
      const Value& made = flow_.value(value);
      if (!made.IsMadeBy(computation, index) || made.source == kNoValue) continue;
      const ValueId initial = flow_.Resolve(made.source);
      if (!found_.contains(initial)) continue;
      // A pass may hand on the array of another flight, which the next pass waits for.
      found_.Add(value, changed_.contains(value) ? value : initial);
    }
  }

  // Adds to changed_ what was found as the array before the loop although a pass returns another
  // one. Returns false if there is nothing of this kind.
  bool FindChanged() {
    const size_t before = changed_.size();
    for (int c = 0; c < graph_.computations.size() && !found_.empty(); ++c) {
      if (!graph_.computations[c].controlled) continue;
      for (int i = 0; i < graph_.computations[c].instructions.size(); ++i) {
        if (graph_.At(c, i).kind == Kind::kWhile) FindChangedBy(c, i);
      }
    }
    return changed_.size() > before;
  }

  void FindChangedBy(int computation, int index) {
    const LeafValues roots = flow_.OfRoot(graph_.At(computation, index).calls[kBody]);
    for (const ValueId value : OfLoop(computation, index)) {
      const Value& made = flow_.value(value);
      if (!made.IsMadeBy(computation, index) || !found_.contains(value)) continue;
      const bool kept = made.leaf < roots.size() && found_.AreSameArray(roots[made.leaf], value);
      if (!kept) changed_.insert(value);
    }
  }

  const Flow& flow_;
  const Graph& graph_;
  InPlaceRules in_place_;
  ValuesInFlight found_;
  absl::flat_hash_set<ValueId> changed_;  // by a pass of the loop that makes the value
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
      if (move.kind != Kind::kCopyStart) continue;
      for (const ValueId value : placed.Of(c, move.operands[0])) {
        if (!in_flight.contains(placed.Stored(value))) continue;
        report.Add(PlacedRule::kMoveInFlight, graph.Describe(c, i),
                   " copies an array on which a collective in flight works");
      }
    }
  }
}

}  // namespace mallocmuzero::place_check
