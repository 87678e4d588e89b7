#include "simulator/place_check/match.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "simulator/place_check/aliases.h"
#include "simulator/place_check/shapes.h"

namespace mallocmuzero::place_check {
namespace {

class Matcher {
 public:
  Matcher(const Graph& original, const Graph& placed, int64_t fast_space, Report& report)
      : original_(original),
        placed_(placed),
        fast_space_(fast_space),
        report_(report),
        callees_(original, placed, fast_space) {
    match_.computations.assign(placed.computations.size(), kNone);
    match_.instructions.resize(placed.computations.size());
    for (size_t c = 0; c < placed.computations.size(); ++c) {
      match_.instructions[c].assign(placed.computations[c].instructions.size(), kNone);
    }
    match_.placed.resize(original.computations.size());
    for (size_t c = 0; c < original.computations.size(); ++c) {
      match_.placed[c].assign(original.computations[c].instructions.size(), kNone);
    }
  }

  Match Run() {
    Pair(original_.entry, placed_.entry);
    return std::move(match_);
  }

 private:
  void Pair(int original, int placed);
  void PairParameters(int original, int placed);
  void Compare(int original, int was, int placed, int is);
  // True for a constant that the placer may add. CheckValues finds out if it has another value than
  // the original's.
  bool MayBeAdded(const Instruction& instruction) const;
  void Join(int original, int was, int placed, int is) {
    match_.instructions[placed][is] = was;
    match_.placed[original][was] = is;
  }

  const Graph& original_;
  const Graph& placed_;
  const int64_t fast_space_;
  Report& report_;
  CalleeComparison callees_;
  Match match_;
};

void Matcher::PairParameters(int original, int placed) {
  const std::vector<int>& was = original_.computations[original].parameters;
  const std::vector<int>& is = placed_.computations[placed].parameters;
  if (was.size() != is.size()) {
    report_.Add(PlacedRule::kShapeChanged, "'", placed_.computations[placed].name(), "' has ",
                is.size(), " parameters, had ", was.size());
  }
  for (size_t i = 0; i < std::min(was.size(), is.size()); ++i) {
    Join(original, was[i], placed, is[i]);
    if (!SameAttributes(original_.At(original, was[i]), placed_.At(placed, is[i]))) {
      report_.Add(PlacedRule::kAttributes, placed_.Describe(placed, is[i]),
                  " has other attributes than in the original");
    }
  }
}

void Matcher::Pair(int original, int placed) {
  match_.computations[placed] = original;
  PairParameters(original, placed);
  const Computation& was = original_.computations[original];
  const Computation& is = placed_.computations[placed];
  if (was.proto->execution_thread() != is.proto->execution_thread()) {
    report_.Add(PlacedRule::kAttributes, "'", is.name(), "' runs in another thread");
  }
  absl::flat_hash_map<absl::string_view, int> by_name;
  for (int i = 0; i < is.instructions.size(); ++i) by_name.emplace(is.instructions[i].name(), i);
  for (int i = 0; i < was.instructions.size(); ++i) {
    const Kind kind = was.instructions[i].kind;
    if (kind == Kind::kParameter || IsForwarding(kind)) continue;
    const auto found = by_name.find(was.instructions[i].name());
    if (found == by_name.end() || is.instructions[found->second].kind != kind) {
      report_.Add(PlacedRule::kDropped, "'", is.name(), "' lacks '", was.instructions[i].name(),
                  "' (", was.instructions[i].proto->opcode(), ")");
      continue;
    }
    Join(original, i, placed, found->second);
    Compare(original, i, placed, found->second);
  }
  for (int i = 0; i < is.instructions.size(); ++i) {
    if (match_.instructions[placed][i] != kNone || IsForwarding(is.instructions[i].kind)) continue;
    if (is.instructions[i].kind == Kind::kParameter || MayBeAdded(is.instructions[i])) continue;
    report_.Add(PlacedRule::kExtraInstruction, placed_.Describe(placed, i), " (",
                is.instructions[i].proto->opcode(), ") is not in the original");
  }
}

bool Matcher::MayBeAdded(const Instruction& instruction) const {
  return IsLiteral(instruction) && SpaceOf(instruction.proto->shape()) != fast_space_;
}

void Matcher::Compare(int original, int was, int placed, int is) {
  const Instruction& before = original_.At(original, was);
  const Instruction& after = placed_.At(placed, is);
  if (!SameAttributes(before, after)) {
    report_.Add(PlacedRule::kAttributes, placed_.Describe(placed, is),
                " has other attributes than in the original");
  }
  if (const std::string fault = AliasFault(before, placed_, placed, is); !fault.empty()) {
    report_.Add(PlacedRule::kAttributes, placed_.Describe(placed, is), " ", fault);
  }
  // The shape of a loop may have more elements; the loop's body, condition and operand are compared
  // with it elsewhere.
  if (before.kind != Kind::kWhile &&
      !SameButForSpaces(before.proto->shape(), after.proto->shape())) {
    report_.Add(PlacedRule::kShapeChanged, placed_.Describe(placed, is), " is ",
                Describe(after.proto->shape()), ", was ", Describe(before.proto->shape()));
  }
  if (before.calls.size() != after.calls.size()) {
    report_.Add(PlacedRule::kCalledComputation, placed_.Describe(placed, is),
                " calls another number of computations");
    return;
  }
  for (size_t i = 0; i < before.calls.size(); ++i) {
    if (IsControl(before.kind)) {
      Pair(before.calls[i], after.calls[i]);
      continue;
    }
    const std::string difference =
        callees_.Difference(before.calls[i], after.calls[i], before.kind == Kind::kFusion);
    if (difference.empty()) continue;
    report_.Add(PlacedRule::kCalledComputation, placed_.Describe(placed, is), ": ", difference);
  }
}

// The module without the parts that may differ or are compared elsewhere, serialised.
std::string ModuleFields(const Graph& graph) {
  xla::HloModuleProto rest = *graph.proto;
  rest.clear_name();
  rest.clear_id();
  rest.clear_computations();
  rest.clear_entry_computation_id();
  rest.clear_entry_computation_name();
  rest.clear_schedule();
  rest.clear_cross_program_prefetches();
  return SerializeDeterministically(rest);
}

}  // namespace

void CompareModuleFields(const Graph& original, const Graph& placed, Report& report) {
  if (ModuleFields(original) != ModuleFields(placed)) {
    report.Add(PlacedRule::kModuleChanged,
               "the module's own fields (aliases, entry layout, ...) are not the original's");
  }
}

Match MatchModules(const Graph& original, const Graph& placed, int64_t fast_space, Report& report) {
  return Matcher(original, placed, fast_space, report).Run();
}

}  // namespace mallocmuzero::place_check
