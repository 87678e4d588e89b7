// Checks that shapes agree with each other.

#include <vector>

#include "simulator/place_check/in_place.h"
#include "simulator/place_check/shapes.h"
#include "simulator/place_check/spaces.h"

namespace mallocmuzero::place_check {
namespace {

using xla::ShapeProto;

class Agreement {
 public:
  Agreement(const Graph& graph, int computation, Report& report)
      : graph_(graph), computation_(computation), report_(report) {}

  void Check(int index) {
    const Instruction& instruction = graph_.At(computation_, index);
    switch (instruction.kind) {
      case Kind::kTuple:
        return CheckTuple(index);
      case Kind::kElement:
        return CheckElement(index);
      case Kind::kBitcast:
        return CheckBitcast(index);
      case Kind::kBarrier:
        return Expect(PlacedRule::kForwardedShape, index, Shape(index), Operand(index, 0));
      case Kind::kCopyStart:
        return CheckCopyStart(index);
      case Kind::kCopyDone:
        return CheckCopyDone(index);
      case Kind::kWhile:
        return CheckWhile(index);
      case Kind::kConditional:
        return CheckConditional(index);
      case Kind::kCall:
        return CheckCall(index);
      case Kind::kCompute:
        return CheckCollective(index);
      default:
        return;
    }
  }

 private:
  const ShapeProto& Shape(int index) const { return graph_.ShapeOf(computation_, index); }
  const ShapeProto& Operand(int index, size_t operand) const {
    return Shape(graph_.At(computation_, index).operands[operand]);
  }

  template <typename... Parts>
  void Add(PlacedRule rule, int index, const Parts&... parts) {
    report_.Add(rule, graph_.Describe(computation_, index), parts...);
  }

  void Expect(PlacedRule rule, int index, const ShapeProto& is, const ShapeProto& expected) {
    if (!SameShape(is, expected))
      Add(rule, index, ": ", Describe(expected), " expected, found ", Describe(is));
  }

  void CheckTuple(int index) {
    const ShapeProto& shape = Shape(index);
    const Instruction& tuple = graph_.At(computation_, index);
    if (!IsTuple(shape) || shape.tuple_shapes_size() != tuple.operands.size()) {
      return Add(PlacedRule::kForwardedShape, index,
                 " has elements that do not match its operands");
    }
    for (int i = 0; i < shape.tuple_shapes_size(); ++i) {
      Expect(PlacedRule::kForwardedShape, index, shape.tuple_shapes(i), Operand(index, i));
    }
  }

  void CheckElement(int index) {
    const ShapeProto& tuple = Operand(index, 0);
    const int64_t number = graph_.At(computation_, index).proto->tuple_index();
    if (!IsTuple(tuple) || number < 0 || number >= tuple.tuple_shapes_size()) {
      return Add(PlacedRule::kForwardedShape, index, ": its operand has no element ", number);
    }
    Expect(PlacedRule::kForwardedShape, index, Shape(index), tuple.tuple_shapes(number));
  }

  void CheckBitcast(int index) {
    const ShapeProto& shape = Shape(index);
    const ShapeProto& operand = Operand(index, 0);
    if (IsTuple(shape) || IsTuple(operand) || SpaceOf(shape) != SpaceOf(operand)) {
      Add(PlacedRule::kForwardedShape, index, ": a bitcast of ", Describe(operand), " to ",
          Describe(shape));
    }
  }

  void CheckCopyStart(int index) {
    const ShapeProto& shape = Shape(index);
    const ShapeProto& operand = Operand(index, 0);
    if (IsTuple(operand) || !IsTuple(shape) || shape.tuple_shapes_size() != 3 ||
        !SameShape(shape.tuple_shapes(1), operand) ||
        !SameButForSpaces(shape.tuple_shapes(0), operand) || IsTuple(shape.tuple_shapes(2))) {
      Add(PlacedRule::kCopyShape, index, ": a copy of ", Describe(operand), " as ",
          Describe(shape));
    }
  }

  void CheckCopyDone(int index) {
    const ShapeProto& start = Operand(index, 0);
    if (start.tuple_shapes().empty()) {
      return Add(PlacedRule::kCopyShape, index, " waits for ", Describe(start));
    }
    Expect(PlacedRule::kCopyShape, index, Shape(index), start.tuple_shapes(0));
  }

  // The arrays that the start of a collective sends: those of all operands, but of a permute of
  // slices only those that the slices are from.
  std::vector<const ShapeProto*> Sent(int index) const {
    const Instruction& start = graph_.At(computation_, index);
    const bool of_slices = IsPermuteOfSlices(graph_, computation_, start);
    std::vector<const ShapeProto*> arrays;
    for (size_t i = 0; i < (of_slices ? 1 : start.operands.size()); ++i) {
      const std::vector<const ShapeProto*> leaves = Leaves(Operand(index, i));
      arrays.insert(arrays.end(), leaves.begin(), leaves.end());
    }
    return arrays;
  }

  // The start of a collective states the shapes of what it sends, and its done those of the
  // results.
  void CheckCollective(int index) {
    const Instruction& instruction = graph_.At(computation_, index);
    const bool starts = StartsStatedCollective(instruction);
    if (instruction.operands.empty()) return;
    if (!starts && !EndsStatedCollective(instruction)) return;
    const ShapeProto& start = starts ? Shape(index) : Operand(index, 0);
    if (start.tuple_shapes_size() < 2) {
      return Add(PlacedRule::kForwardedShape, index, ": a collective as ", Describe(start));
    }
    const std::vector<const ShapeProto*> stated = Leaves(start.tuple_shapes(starts ? 0 : 1));
    const std::vector<const ShapeProto*> actual = starts ? Sent(index) : Leaves(Shape(index));
    if (actual.size() != stated.size()) {
      return Add(PlacedRule::kForwardedShape, index, " has ", actual.size(), " arrays, ",
                 stated.size(), " stated");
    }
    for (size_t i = 0; i < actual.size(); ++i) {
      Expect(PlacedRule::kForwardedShape, index, *stated[i], *actual[i]);
    }
  }

  void ExpectParameter(int index, int callee, size_t number, const ShapeProto& expected) {
    const Computation& called = graph_.computations[callee];
    if (number >= called.parameters.size()) {
      return Add(PlacedRule::kCallShape, index, ": '", called.name(), "' has no parameter ",
                 number);
    }
    Expect(PlacedRule::kCallShape, index, graph_.ShapeOf(callee, called.parameters[number]),
           expected);
  }

  void CheckWhile(int index) {
    const Instruction& loop = graph_.At(computation_, index);
    Expect(PlacedRule::kCallShape, index, Operand(index, 0), Shape(index));
    Expect(PlacedRule::kCallShape, index, graph_.RootShape(loop.calls[kBody]), Shape(index));
    for (const int callee : loop.calls) {
      ExpectParameter(index, callee, 0, Shape(index));
      if (graph_.computations[callee].parameters.size() != 1) {
        Add(PlacedRule::kCallShape, index, ": '", graph_.computations[callee].name(),
            "' has more than one parameter");
      }
    }
    if (IsTuple(graph_.RootShape(loop.calls[kCondition]))) {
      Add(PlacedRule::kCallShape, index, ": its condition returns a tuple");
    }
  }

  void CheckConditional(int index) {
    const Instruction& conditional = graph_.At(computation_, index);
    for (size_t i = 0; i < conditional.calls.size(); ++i) {
      ExpectParameter(index, conditional.calls[i], 0, Operand(index, i + 1));
      Expect(PlacedRule::kCallShape, index, graph_.RootShape(conditional.calls[i]), Shape(index));
    }
  }

  void CheckCall(int index) {
    const Instruction& call = graph_.At(computation_, index);
    for (size_t i = 0; i < call.operands.size(); ++i) {
      ExpectParameter(index, call.calls[0], i, Operand(index, i));
    }
    Expect(PlacedRule::kCallShape, index, graph_.RootShape(call.calls[0]), Shape(index));
  }

  const Graph& graph_;
  const int computation_;
  Report& report_;
};

// Checks a computation's program_shape, if it has one, because the compiler reads it first.
void CheckProgramShape(const Graph& graph, int computation, Report& report) {
  const Computation& checked = graph.computations[computation];
  if (!checked.proto->has_program_shape()) return;
  const xla::ProgramShapeProto& stated = checked.proto->program_shape();
  bool same = stated.parameters_size() == checked.parameters.size() &&
              SameShape(stated.result(), graph.RootShape(computation));
  for (int i = 0; i < stated.parameters_size() && same; ++i) {
    same = SameShape(stated.parameters(i), graph.ShapeOf(computation, checked.parameters[i]));
  }
  if (!same) {
    report.Add(PlacedRule::kStatedShape, "'", checked.name(),
               "': program_shape is not that of its parameters and root");
  }
}

// A memory space that an instruction states for its operand must be the operand's, unless it
// differed in the original, too, and neither space has changed.
void CheckStatedOperands(const Graph& original, int computation, int was, const Graph& placed,
                         int placed_computation, int is, Report& report) {
  const Instruction& before = original.At(computation, was);
  const Instruction& after = placed.At(placed_computation, is);
  const auto& stated = after.proto->operand_shapes_with_layout();
  const auto& stated_before = before.proto->operand_shapes_with_layout();
  bool fine = stated.size() == stated_before.size();
  for (int i = 0; i < stated.size() && fine; ++i) {
    fine = i < after.operands.size() && SameButForSpaces(stated[i], stated_before[i]);
    if (!fine) break;
    const ShapeProto& operand = placed.ShapeOf(placed_computation, after.operands[i]);
    fine = SameShape(stated[i], operand) || SameShape(stated[i], stated_before[i]);
    if (fine && i < before.operands.size() && !SameShape(stated[i], operand)) {
      // The statement is unchanged and differs from the operand, which is right only if it did so
      // in the original.
      fine = SameShape(operand, original.ShapeOf(computation, before.operands[i]));
    }
  }
  if (!fine) {
    report.Add(PlacedRule::kStatedShape, placed.Describe(placed_computation, is),
               ": operand_shapes_with_layout is not that of its operands");
  }
}

}  // namespace

void CheckShapes(const Graph& original, const Graph& placed, const Match& match, Report& report) {
  for (int c = 0; c < placed.computations.size(); ++c) {
    CheckProgramShape(placed, c, report);
    if (!placed.computations[c].controlled) continue;
    Agreement agreement(placed, c, report);
    for (int i = 0; i < placed.computations[c].instructions.size(); ++i) {
      agreement.Check(i);
      const int was = match.Original(c, i);
      if (was == kNone) continue;
      CheckStatedOperands(original, match.computations[c], was, placed, c, i, report);
    }
  }
}

}  // namespace mallocmuzero::place_check
