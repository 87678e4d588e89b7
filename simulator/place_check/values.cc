#include "simulator/place_check/values.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "simulator/place_check/shapes.h"

namespace mallocmuzero::place_check {
namespace {

// A name for the bytes of a value, the same in both modules: equal terms mean equal bytes.
using Term = int;
constexpr Term kUnknown = -1;  // equal to nothing

class Terms {
 public:
  Term New() { return next_++; }
  Term Piece(Term source, ByteRange range) { return Intern({0, source, range.begin, range.end}); }
  Term View(Term source, const xla::ShapeProto& shape) {
    return Intern({1, source, ByteSize(shape), 0});
  }

 private:
  Term Intern(const std::tuple<int, Term, int64_t, int64_t>& key) {
    const auto [entry, is_new] = known_.emplace(key, next_);
    if (is_new) ++next_;
    return entry->second;
  }

  Term next_ = 0;
  absl::flat_hash_map<std::tuple<int, Term, int64_t, int64_t>, Term> known_;
};

// Assigns terms to the values of one module.
class Naming {
 public:
  // Reports kSliceTiling if `report` is not null.
  Naming(const Flow& flow, Terms& terms, bool any_piece_order, Report* report)
      : flow_(flow),
        terms_(terms),
        any_piece_order_(any_piece_order),
        report_(report),
        term_of_(flow.size(), kUnknown) {}

  // Names all values. Each value comes after its sources. `base` returns the term of a value that
  // cannot be derived from other values of the module.
  template <typename Base>
  void Name(const Base& base) {
    for (ValueId id = 0; id < flow_.size(); ++id) {
      if (flow_.Resolve(id) != id) continue;
      term_of_[id] = Explained(id);
      if (term_of_[id] == kUnknown && !IsMove(flow_.value(id).kind)) term_of_[id] = base(id);
    }
  }

  Term Of(ValueId value) const { return value < 0 ? kUnknown : term_of_[flow_.Resolve(value)]; }

 private:
  static bool IsMove(ValueKind kind) { return kind >= ValueKind::kMoved; }

  Term Explained(ValueId id) {
    const Value& value = flow_.value(id);
    switch (value.kind) {
      case ValueKind::kMoved:
        return Of(value.source);
      case ValueKind::kPiece:
        return Piece(value);
      case ValueKind::kJoined:
        return Join(value);
      case ValueKind::kViewed:
        return value.source < 0 || Of(value.source) < 0
                   ? kUnknown
                   : terms_.View(Of(value.source), *value.shape);
      default:
        return kUnknown;
    }
  }

  Term Piece(const Value& value) {
    if (value.source < 0 || Of(value.source) < 0) return kUnknown;
    if (value.range.begin < 0) {
      Add(value, ": its bytes are not contiguous in the array that it slices");
      return kUnknown;
    }
    return terms_.Piece(Of(value.source), value.range);
  }

  Term Join(const Value& value);

  template <typename... Parts>
  void Add(const Value& value, const Parts&... parts) {
    if (report_ == nullptr) return;
    report_->Add(PlacedRule::kSliceTiling,
                 flow_.graph().Describe(value.computation, value.instruction), parts...);
  }

  const Flow& flow_;
  Terms& terms_;
  const bool any_piece_order_;
  Report* report_;
  std::vector<Term> term_of_;
};

Term Naming::Join(const Value& value) {
  const Instruction& concat = flow_.graph().At(value.computation, value.instruction);
  std::vector<const Value*> pieces;
  for (const int operand : concat.operands) {
    const LeafValues leaves = flow_.Of(value.computation, operand);
    pieces.push_back(leaves.size() == 1 ? &flow_.value(leaves[0]) : nullptr);
    if (pieces.back() == nullptr || pieces.back()->kind != ValueKind::kPiece ||
        Of(pieces.back()->source) < 0) {
      Add(value, " joins '", flow_.graph().At(value.computation, operand).name(),
          "', which is no piece");
      return kUnknown;
    }
  }
  if (any_piece_order_) {
    std::stable_sort(pieces.begin(), pieces.end(), [](const Value* a, const Value* b) {
      return a->range.begin < b->range.begin;
    });
  }
  const ValueId whole = pieces[0]->source;
  int64_t end = 0;
  for (const Value* piece : pieces) {
    if (piece->range.begin != end || Of(piece->source) != Of(whole)) {
      Add(value, ": the piece of '",
          flow_.graph().At(piece->computation, piece->instruction).name(), "' does not follow the ",
          end, " bytes before it");
      return kUnknown;
    }
    end = piece->range.end;
  }
  const int64_t all = ByteSize(*flow_.value(flow_.Resolve(whole)).shape);
  if (end == all && end == ByteSize(*value.shape)) return Of(whole);
  Add(value, " joins ", end, " of ", all, " bytes to ", ByteSize(*value.shape));
  return kUnknown;
}

class ValueCheck {
 public:
  ValueCheck(const Flow& original, const Flow& placed, const Match& match, bool any_piece_order,
             Report& report)
      : original_(original),
        placed_(placed),
        match_(match),
        report_(report),
        was_(original, terms_, any_piece_order, nullptr),
        is_(placed, terms_, any_piece_order, &report) {
    was_.Name([this](ValueId) { return terms_.New(); });
    is_.Name([this](ValueId id) { return Base(id); });
  }

  void Run() {
    const Graph& graph = placed_.graph();
    for (int c = 0; c < graph.computations.size(); ++c) {
      const int computation = match_.computations[c];
      if (computation == kNone || !graph.computations[c].controlled) continue;
      for (int i = 0; i < graph.computations[c].instructions.size(); ++i) {
        const int was = match_.Original(c, i);
        if (was != kNone) CheckInstruction(computation, was, c, i);
      }
    }
    CheckRoot(original_.graph().entry, graph.entry);
  }

 private:
  Term Base(ValueId id);
  void CheckInstruction(int computation, int was, int placed_computation, int is);
  void CheckLoop(int computation, int was, int placed_computation, int is);
  void CheckRoot(int original, int placed);
  // Compares the leaves of one operand. If `prefix`, the placed module may have more leaves than
  // the original; then only as many as the original has are compared.
  void CheckLeaves(const LeafValues& was, const LeafValues& is, bool prefix, PlacedRule rule,
                   const std::string& what);
  LeafValues ShapedOperand(const Flow& flow, int computation, int instruction, size_t operand) {
    return flow.Of(computation, flow.graph().At(computation, instruction).operands[operand]);
  }

  const Flow& original_;
  const Flow& placed_;
  const Match& match_;
  Report& report_;
  Terms terms_;
  Naming was_;
  Naming is_;
};

// The term of the value that the matched instruction of the original makes at this leaf, or that a
// loop of the original carries there.
Term ValueCheck::Base(ValueId id) {
  const Value& value = placed_.value(id);
  const int was = match_.Original(value.computation, value.instruction);
  if (was == kNone) return kUnknown;
  const int computation = match_.computations[value.computation];
  const Instruction& before = original_.graph().At(computation, was);
  const bool loop = before.kind == Kind::kWhile;
  if (value.leaf >= LeafCount(before.proto->shape())) {
    return loop ? is_.Of(value.source) : kUnknown;  // an added element must keep its initial value
  }
  if (value.kind != ValueKind::kCarried)
    return was_.Of(original_.Leaf(computation, was, value.leaf));
  const int body = before.calls[kBody];
  const Computation& called = original_.graph().computations[body];
  if (called.parameters.empty()) return kUnknown;
  const LeafValues parameter = original_.Of(body, called.parameters[0]);
  return value.leaf < parameter.size() ? was_.Of(parameter[value.leaf]) : kUnknown;
}

void ValueCheck::CheckLeaves(const LeafValues& was, const LeafValues& is, bool prefix,
                             PlacedRule rule, const std::string& what) {
  if (is.size() < was.size() || (!prefix && is.size() != was.size())) {
    report_.Add(rule, what, " has ", is.size(), " arrays, had ", was.size());
    return;
  }
  for (size_t i = 0; i < was.size(); ++i) {
    if (was_.Of(was[i]) == is_.Of(is[i]) && is_.Of(is[i]) != kUnknown) continue;
    const Value& found = placed_.value(placed_.Resolve(is[i]));
    report_.Add(rule, what, was.size() > 1 ? absl::StrCat(", array ", i) : "",
                " is not the original's value, but that of ",
                placed_.graph().Describe(found.computation, found.instruction));
  }
}

void ValueCheck::CheckInstruction(int computation, int was, int placed_computation, int is) {
  const Instruction& before = original_.graph().At(computation, was);
  const Instruction& after = placed_.graph().At(placed_computation, is);
  const std::string name = placed_.graph().Describe(placed_computation, is);
  if (before.operands.size() != after.operands.size()) {
    report_.Add(PlacedRule::kOperandValue, name, " has ", after.operands.size(), " operands, had ",
                before.operands.size());
    return;
  }
  const bool grows = after.kind == Kind::kWhile || after.kind == Kind::kConditional;
  for (size_t i = 0; i < before.operands.size(); ++i) {
    const std::string what = absl::StrCat(name, ": operand ", i);
    const xla::ShapeProto& shape = placed_.graph().ShapeOf(placed_computation, after.operands[i]);
    if (!grows &&
        !SameButForSpaces(original_.graph().ShapeOf(computation, before.operands[i]), shape)) {
      report_.Add(PlacedRule::kOperandValue, what, " is ", Describe(shape),
                  ", whose shape differs");
      continue;
    }
    CheckLeaves(ShapedOperand(original_, computation, was, i),
                ShapedOperand(placed_, placed_computation, is, i), grows, PlacedRule::kOperandValue,
                what);
  }
  if (after.kind == Kind::kWhile) {
    CheckLoop(computation, was, placed_computation, is);
  } else if (IsControl(after.kind)) {
    for (size_t i = 0; i < std::min(before.calls.size(), after.calls.size()); ++i) {
      CheckRoot(before.calls[i], after.calls[i]);
    }
  }
}

void ValueCheck::CheckLoop(int computation, int was, int placed_computation, int is) {
  const Instruction& before = original_.graph().At(computation, was);
  const Instruction& after = placed_.graph().At(placed_computation, is);
  CheckRoot(before.calls[kCondition], after.calls[kCondition]);
  const std::string name = placed_.graph().Describe(placed_computation, is);
  const LeafValues roots_before = original_.OfRoot(before.calls[kBody]);
  const LeafValues roots = placed_.OfRoot(after.calls[kBody]);
  CheckLeaves(roots_before, roots, /*prefix=*/true, PlacedRule::kCarriedValue,
              absl::StrCat(name, ": the value that a pass hands on"));
  const LeafValues initial = ShapedOperand(placed_, placed_computation, is, 0);
  for (size_t i = roots_before.size(); i < std::min(roots.size(), initial.size()); ++i) {
    if (is_.Of(roots[i]) == is_.Of(initial[i]) && is_.Of(roots[i]) != kUnknown) continue;
    report_.Add(PlacedRule::kCarriedValue, name, ": added array ", i, " changes");
  }
  // The loop must begin with the elements of the original loop, in the same shapes.
  const xla::ShapeProto& shape = after.proto->shape();
  const xla::ShapeProto& shape_before = before.proto->shape();
  bool same = IsTuple(shape) == IsTuple(shape_before) &&
              shape.tuple_shapes_size() >= shape_before.tuple_shapes_size();
  for (int i = 0; i < shape_before.tuple_shapes_size() && same; ++i) {
    same = SameButForSpaces(shape.tuple_shapes(i), shape_before.tuple_shapes(i));
  }
  if (same && !IsTuple(shape)) same = SameButForSpaces(shape, shape_before);
  if (!same)
    report_.Add(PlacedRule::kShapeChanged, name,
                " does not begin with the elements of the original");
}

void ValueCheck::CheckRoot(int original, int placed) {
  const std::string what =
      absl::StrCat("the result of '", placed_.graph().computations[placed].name(), "'");
  if (!SameButForSpaces(original_.graph().RootShape(original), placed_.graph().RootShape(placed))) {
    report_.Add(PlacedRule::kRootValue, what, " is ", Describe(placed_.graph().RootShape(placed)),
                ", whose shape differs");
    return;
  }
  CheckLeaves(original_.OfRoot(original), placed_.OfRoot(placed), /*prefix=*/false,
              PlacedRule::kRootValue, what);
}

}  // namespace

void CheckValues(const Flow& original, const Flow& placed, const Match& match, bool any_piece_order,
                 Report& report) {
  ValueCheck(original, placed, match, any_piece_order, report).Run();
}

}  // namespace mallocmuzero::place_check
