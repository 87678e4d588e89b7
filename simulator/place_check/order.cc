#include "simulator/place_check/order.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/size32.h"

namespace mallocmuzero::place_check {
namespace {

class Reader {
 public:
  Reader(const Graph& graph, Report* report) : graph_(graph), report_(report) {}

  Order Read() {
    Order order;
    order.sequences.resize(graph_.computations.size());
    order.positions.resize(graph_.computations.size());
    for (const auto& [id, sequence] : graph_.proto->schedule().sequences()) {
      const auto computation = graph_.by_id.find(id);
      if (computation != graph_.by_id.end()) continue;
      Add(PlacedRule::kSchedule, "a sequence for computation ", id, ", which does not exist");
    }
    for (int c = 0; c < graph_.computations.size(); ++c) {
      if (graph_.computations[c].fused) continue;
      if (ReadSequence(c, order)) {
        CheckSequence(c, order.positions[c]);
      } else {
        order.complete = false;
      }
    }
    return order;
  }

 private:
  template <typename... Parts>
  void Add(PlacedRule rule, const Parts&... parts) {
    if (report_ != nullptr) report_->Add(rule, parts...);
  }

  bool ReadSequence(int c, Order& order) {
    const Computation& computation = graph_.computations[c];
    const auto& sequences = graph_.proto->schedule().sequences();
    const auto found = sequences.find(computation.proto->id());
    if (found == sequences.end()) {
      Add(PlacedRule::kSchedule, "'", computation.name(), "' has no sequence");
      return false;
    }
    bool complete = true;
    std::vector<int>& positions = order.positions[c];
    positions.assign(computation.instructions.size(), -1);
    for (const int64_t id : found->second.instruction_ids()) {
      const auto instruction = computation.by_id.find(id);
      if (instruction == computation.by_id.end()) {
        Add(PlacedRule::kSchedule, "the sequence of '", computation.name(),
            "' names the unknown instruction ", id);
        complete = false;
        continue;
      }
      int& position = positions[instruction->second];
      if (position >= 0) {
        Add(PlacedRule::kSchedule, graph_.Describe(c, instruction->second), " is scheduled twice");
        complete = false;
        continue;
      }
      position = Size32(order.sequences[c]);
      order.sequences[c].push_back(instruction->second);
    }
    for (int i = 0; i < positions.size(); ++i) {
      if (positions[i] >= 0) continue;
      Add(PlacedRule::kSchedule, graph_.Describe(c, i), " is not scheduled");
      complete = false;
    }
    return complete;
  }

  void CheckSequence(int c, const std::vector<int>& positions) {
    for (int i = 0; i < positions.size(); ++i) {
      for (const int operand : graph_.At(c, i).operands) {
        if (positions[operand] < positions[i]) continue;
        Add(PlacedRule::kScheduleOrder, graph_.Describe(c, i), " runs before its operand '",
            graph_.At(c, operand).name(), "'");
      }
      for (const int before : graph_.At(c, i).control) {
        if (positions[before] < positions[i]) continue;
        Add(PlacedRule::kControlDependency, graph_.Describe(c, i), " runs before '",
            graph_.At(c, before).name(), "', its control predecessor");
      }
    }
  }

  const Graph& graph_;
  Report* report_;
};

// Finds instructions that have an effect outside the program or make random numbers, themselves or
// in a computation that they call. The order of such instructions is part of the program's meaning.
class SideEffects {
 public:
  explicit SideEffects(const Graph& graph) {
    // Callees come before callers.
    for (const Computation& computation : graph.computations) {
      in_computation_.push_back(std::any_of(
          computation.instructions.begin(), computation.instructions.end(),
          [this](const Instruction& instruction) { return HasSideEffect(instruction); }));
    }
  }

  // The instruction must be one of the graph's.
  bool HasSideEffect(const Instruction& instruction) const {
    return HasOwnEffect(instruction) ||
           std::any_of(instruction.calls.begin(), instruction.calls.end(),
                       [this](int called) { return in_computation_[called]; });
  }

 private:
  static bool HasOwnEffect(const Instruction& instruction) {
    const std::string& opcode = instruction.proto->opcode();
    if (opcode == "custom-call") return instruction.proto->custom_call_has_side_effect();
    for (const absl::string_view prefix :
         {"infeed", "outfeed", "send", "recv", "rng", "all-", "collective-", "reduce-scatter",
          "ragged-", "async-", "after-all"}) {
      if (absl::StartsWith(opcode, prefix)) return true;
    }
    return false;
  }

  std::vector<bool> in_computation_;  // for each computation
};

class Comparison {
 public:
  Comparison(const Graph& original, const Graph& placed, const Match& match, Report& report)
      : original_(original),
        placed_(placed),
        match_(match),
        report_(report),
        side_effects_(original) {}

  // Checks that the kept instructions of one computation run in the original's order. If
  // `effects_only`, only those with side effects must.
  void CompareSequence(int c, const std::vector<int>& was, const std::vector<int>& positions,
                       bool effects_only) {
    const int computation = match_.computations[c];
    int last = -1;
    for (const int i : was) {
      const int is = match_.placed[computation][i];
      const Instruction& instruction = original_.At(computation, i);
      if (is == kNone || instruction.kind == Kind::kParameter ||
          instruction.proto->opcode() == "constant" ||
          (effects_only && !side_effects_.HasSideEffect(instruction))) {
        continue;
      }
      if (last >= 0 && positions[is] < positions[last]) {
        report_.Add(PlacedRule::kOrderChanged, placed_.Describe(c, is), " runs before '",
                    placed_.At(c, last).name(), "'; in the original it runs after it");
      }
      last = is;
    }
  }

  // Checks that a kept instruction runs after its control predecessors in the original. If such a
  // predecessor only passes values on, that one's own predecessors and operands count instead.
  void CompareControl(int c, const std::vector<int>& positions) {
    const int computation = match_.computations[c];
    for (int i = 0; i < positions.size(); ++i) {
      const int was = match_.Original(c, i);
      if (was == kNone) continue;
      std::vector<int> open = original_.At(computation, was).control;
      absl::flat_hash_set<int> seen(open.begin(), open.end());
      while (!open.empty()) {
        const int before = open.back();
        open.pop_back();
        const int is = match_.placed[computation][before];
        if (is != kNone) {
          if (positions[is] < positions[i]) continue;
          report_.Add(PlacedRule::kControlDependency, placed_.Describe(c, i), " runs before '",
                      placed_.At(c, is).name(), "', its control predecessor");
          continue;
        }
        const Instruction& passing = original_.At(computation, before);
        for (const std::vector<int>* more : {&passing.control, &passing.operands}) {
          for (const int next : *more) {
            if (seen.insert(next).second) open.push_back(next);
          }
        }
      }
    }
  }

 private:
  const Graph& original_;
  const Graph& placed_;
  const Match& match_;
  Report& report_;
  const SideEffects side_effects_;
};

}  // namespace

Order ReadOrder(const Graph& graph, Report* report) { return Reader(graph, report).Read(); }

void CompareOrders(const Graph& original, const Order& was, const Graph& placed, const Order& is,
                   const Match& match, bool allow_reordering, Report& report) {
  Comparison comparison(original, placed, match, report);
  for (int c = 0; c < placed.computations.size(); ++c) {
    if (match.computations[c] == kNone) continue;
    comparison.CompareSequence(c, was.sequences[match.computations[c]], is.positions[c],
                               allow_reordering);
    comparison.CompareControl(c, is.positions[c]);
  }
}

}  // namespace mallocmuzero::place_check
