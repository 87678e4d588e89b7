#include "simulator/place_check/values.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
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
  Term View(Term source, const xla::ShapeProto& shape) {
    const auto [entry, is_new] = views_.emplace(std::pair(source, ByteSize(shape)), next_);
    if (is_new) ++next_;
    return entry->second;
  }
  // The term of a constant for which IsLiteral is true. Equal constants have the same term.
  Term Constant(const Instruction& constant) {
    std::vector<std::pair<const Instruction*, Term>>& known =
        constants_[HashOfAttributes(constant)];
    for (const auto& [other, term] : known) {
      if (SameAttributes(*other, constant) &&
          SameButForSpaces(other->proto->shape(), constant.proto->shape())) {
        return term;
      }
    }
    known.emplace_back(&constant, New());
    return known.back().second;
  }

 private:
  Term next_ = 0;
  absl::flat_hash_map<std::pair<Term, int64_t>, Term> views_;  // keys are source and bytes
  // For each hash of attributes the different constants and their terms.
  absl::flat_hash_map<size_t, std::vector<std::pair<const Instruction*, Term>>> constants_;
};

// Assigns terms to the values of one module.
class Naming {
 public:
  Naming(const Flow& flow, Terms& terms)
      : flow_(flow), terms_(terms), term_of_(flow.size(), kUnknown) {}

  // Names all values. Each value comes after its sources. `base` returns the term of a value that
  // cannot be derived from other values of the module.
  template <typename Base>
  void Name(const Base& base) {
    for (ValueId id = 0; id < flow_.size(); ++id) {
      if (flow_.Resolve(id) != id) continue;
      const Value& value = flow_.value(id);
      const bool derived = value.kind == ValueKind::kMoved || value.kind == ValueKind::kViewed;
      term_of_[id] = derived ? Derived(value) : base(id);
    }
  }

  Term Of(ValueId value) const { return value < 0 ? kUnknown : term_of_[flow_.Resolve(value)]; }

 private:
  Term Derived(const Value& value) {
    const Term source = Of(value.source);
    if (source == kUnknown || value.kind == ValueKind::kMoved) return source;
    return terms_.View(source, *value.shape);
  }

  const Flow& flow_;
  Terms& terms_;
  std::vector<Term> term_of_;
};

class ValueCheck {
 public:
  ValueCheck(const Flow& original, const Flow& placed, const Match& match, Report& report)
      : original_(original),
        placed_(placed),
        match_(match),
        report_(report),
        was_(original, terms_),
        is_(placed, terms_) {
    was_.Name([this](ValueId id) {
      const Value& value = original_.value(id);
      const Instruction& maker = original_.graph().At(value.computation, value.instruction);
      return IsLiteral(maker) ? terms_.Constant(maker) : terms_.New();
    });
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
// loop of the original carries there. An added constant has the term of its literal.
Term ValueCheck::Base(ValueId id) {
  const Value& value = placed_.value(id);
  const int was = match_.Original(value.computation, value.instruction);
  if (was == kNone) {
    const Instruction& added = placed_.graph().At(value.computation, value.instruction);
    return IsLiteral(added) ? terms_.Constant(added) : kUnknown;
  }
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

void CheckValues(const Flow& original, const Flow& placed, const Match& match, Report& report) {
  ValueCheck(original, placed, match, report).Run();
}

}  // namespace mallocmuzero::place_check
