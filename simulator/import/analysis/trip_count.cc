#include "simulator/import/analysis/trip_count.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace mallocmuzero {
namespace {

using absl::nullopt;
using absl::optional;
using hlo::Opcode;

// A scalar inside a loop's body or condition, as far as the analysis understands it: a constant, or
// element `element` of the carried tuple plus `value`, or unknown.
struct Scalar {
  enum class Kind : uint8_t { kUnknown, kConstant, kCounter };
  Kind kind = Kind::kUnknown;
  int64_t value = 0;  // constant, or offset of a counter
  int32_t element = -1;
};

struct Comparison {
  Scalar left;
  Scalar right;
  absl::string_view direction;
};

// Evaluates scalars of one computation, and follows fusions: their parameters are bound to the
// scalars of the fusion's operands. Each visit of an instruction takes one from `budget`. When the
// budget is used up, every scalar is unknown, so that no text makes the evaluation slow.
class ScalarEvaluator {
 public:
  ScalarEvaluator(const hlo::Module& module, const hlo::Computation& computation,
                  std::vector<Scalar> parameters, bool parameter_is_carried_tuple, int* budget)
      : module_(module),
        computation_(computation),
        parameters_(std::move(parameters)),
        parameter_is_carried_tuple_(parameter_is_carried_tuple),
        budget_(budget) {}

  Scalar Evaluate(hlo::InstructionIndex index) const {
    if (--*budget_ < 0) return {};
    const hlo::Instruction& instruction = computation_.instructions[index];
    switch (instruction.opcode) {
      case Opcode::kConstant: {
        Scalar constant{.kind = Scalar::Kind::kConstant};
        return absl::SimpleAtoi(instruction.literal, &constant.value) ? constant : Scalar{};
      }
      case Opcode::kParameter: {
        const int32_t number = instruction.parameter_number.value_or(-1);
        return !parameter_is_carried_tuple_ && number >= 0 && number < parameters_.size()
                   ? parameters_[number]
                   : Scalar{};
      }
      case Opcode::kGetTupleElement:
        return EvaluateTupleElement(instruction);
      case Opcode::kCopy:
      case Opcode::kBitcast:
      case Opcode::kReshape:
        return instruction.operands.empty() ? Scalar{} : Evaluate(instruction.operands[0]);
      case Opcode::kAdd:
      case Opcode::kSubtract:
        return EvaluateSum(instruction);
      case Opcode::kFusion: {
        const auto fused = Enter(instruction);
        return fused ? fused->Evaluate(fused->computation_.root) : Scalar{};
      }
      default:
        return {};
    }
  }

  optional<Comparison> EvaluateComparison(hlo::InstructionIndex index) const {
    const hlo::Instruction& instruction = computation_.instructions[index];
    if (instruction.opcode == Opcode::kFusion) {
      const auto fused = Enter(instruction);
      return fused ? fused->EvaluateComparison(fused->computation_.root) : nullopt;
    }
    if (instruction.opcode != Opcode::kCompare || instruction.operands.size() != 2) return nullopt;
    return Comparison{Evaluate(instruction.operands[0]), Evaluate(instruction.operands[1]),
                      instruction.FindAttribute("direction")};
  }

 private:
  Scalar EvaluateTupleElement(const hlo::Instruction& instruction) const {
    if (instruction.operands.empty() || !instruction.tuple_index) return {};
    const hlo::Instruction& source = computation_.instructions[instruction.operands[0]];
    if (source.opcode == Opcode::kTuple && *instruction.tuple_index >= 0 &&
        *instruction.tuple_index < source.operands.size()) {
      return Evaluate(source.operands[*instruction.tuple_index]);
    }
    if (source.opcode == Opcode::kParameter && parameter_is_carried_tuple_) {
      return {.kind = Scalar::Kind::kCounter, .value = 0, .element = *instruction.tuple_index};
    }
    return {};
  }

  Scalar EvaluateSum(const hlo::Instruction& instruction) const {
    if (instruction.operands.size() != 2) return {};
    const Scalar left = Evaluate(instruction.operands[0]);
    const Scalar right = Evaluate(instruction.operands[1]);
    const bool subtract = instruction.opcode == Opcode::kSubtract;
    if (left.kind == Scalar::Kind::kUnknown || right.kind == Scalar::Kind::kUnknown) return {};
    if (right.kind == Scalar::Kind::kCounter) {
      if (subtract || left.kind == Scalar::Kind::kCounter) return {};
      Scalar sum = right;
      return __builtin_add_overflow(left.value, right.value, &sum.value) ? Scalar{} : sum;
    }
    Scalar sum = left;
    const bool overflow = subtract ? __builtin_sub_overflow(left.value, right.value, &sum.value)
                                   : __builtin_add_overflow(left.value, right.value, &sum.value);
    return overflow ? Scalar{} : sum;
  }

  optional<ScalarEvaluator> Enter(const hlo::Instruction& fusion) const {
    const auto called = fusion.Called(hlo::CallRole::kCalls);
    if (!called || *budget_ <= 0) return nullopt;
    std::vector<Scalar> arguments;
    for (hlo::InstructionIndex operand : fusion.operands) {
      arguments.push_back(Evaluate(operand));
    }
    return ScalarEvaluator(module_, module_.computations[*called], std::move(arguments),
                           /*parameter_is_carried_tuple=*/false, budget_);
  }

  const hlo::Module& module_;
  const hlo::Computation& computation_;
  std::vector<Scalar> parameters_;
  bool parameter_is_carried_tuple_;
  int* budget_;  // not owned
};

// The scalar that element `element` of a loop's initial tuple holds, or the scalar that element
// `element` of the body's root is computed from.
Scalar ElementOf(const ScalarEvaluator& evaluator, const hlo::Computation& computation,
                 hlo::InstructionIndex tuple, int32_t element) {
  const hlo::Instruction& instruction = computation.instructions[tuple];
  if (instruction.opcode != Opcode::kTuple || element < 0 ||
      element >= instruction.operands.size()) {
    return {};
  }
  return evaluator.Evaluate(instruction.operands[element]);
}

// Number of passes of a counter that starts at `start`, changes by `step` after each pass, and runs
// while `start DIRECTION limit` holds. nullopt if the loop never ends or the direction is unknown.
optional<int64_t> CountPasses(absl::string_view direction, int64_t start, int64_t step,
                              int64_t limit) {
  const absl::int128 begin = start;
  const absl::int128 stride = step;
  absl::int128 end = limit;
  if (direction == "LE") end += 1;
  if (direction == "GE") end -= 1;
  absl::int128 passes = 0;
  if (direction == "LT" || direction == "LE") {
    if (stride <= 0) return nullopt;
    passes = end <= begin ? absl::int128(0) : (end - begin + stride - 1) / stride;
  } else if (direction == "GT" || direction == "GE") {
    if (stride >= 0) return nullopt;
    passes = end >= begin ? absl::int128(0) : (begin - end - stride - 1) / -stride;
  } else if (direction == "NE") {
    if (stride == 0 || (end - begin) % stride != 0) return nullopt;
    passes = (end - begin) / stride;
  } else {
    return nullopt;
  }
  if (passes < 0 || passes > INT32_MAX) return nullopt;
  return absl::Int128Low64(passes);
}

// The direction DIRECTION' such that `b DIRECTION' a` means `a DIRECTION b`.
absl::string_view Mirrored(absl::string_view direction) {
  if (direction == "LT") return "GT";
  if (direction == "GT") return "LT";
  if (direction == "LE") return "GE";
  if (direction == "GE") return "LE";
  return direction;
}

}  // namespace

optional<int64_t> TripCount(const hlo::Module& module, const hlo::Computation& caller,
                            const hlo::Instruction& loop) {
  if (loop.known_trip_count) return loop.known_trip_count;
  const hlo::Computation& body = module.computations[*loop.Called(hlo::CallRole::kBody)];
  const hlo::Computation& condition = module.computations[*loop.Called(hlo::CallRole::kCondition)];
  int budget = 4096;
  const ScalarEvaluator in_condition(module, condition, {}, /*parameter_is_carried_tuple=*/true,
                                     &budget);
  optional<Comparison> comparison = in_condition.EvaluateComparison(condition.root);
  if (!comparison) return nullopt;

  const ScalarEvaluator in_caller(module, caller, {}, /*parameter_is_carried_tuple=*/false,
                                  &budget);
  const ScalarEvaluator in_body(module, body, {}, /*parameter_is_carried_tuple=*/true, &budget);
  // An element that the loop does not change has the value from before the loop.
  for (Scalar* side : {&comparison->left, &comparison->right}) {
    if (side->kind != Scalar::Kind::kCounter || side->value != 0) continue;
    const Scalar next = ElementOf(in_body, body, body.root, side->element);
    if (next.kind == Scalar::Kind::kCounter && next.element == side->element && next.value == 0) {
      *side = ElementOf(in_caller, caller, loop.operands[0], side->element);
    }
  }
  if (comparison->left.kind != Scalar::Kind::kCounter) {
    std::swap(comparison->left, comparison->right);
    comparison->direction = Mirrored(comparison->direction);
  }
  const Scalar counter = comparison->left;
  const Scalar limit = comparison->right;
  if (counter.kind != Scalar::Kind::kCounter) return nullopt;

  const Scalar start = ElementOf(in_caller, caller, loop.operands[0], counter.element);
  const Scalar next = ElementOf(in_body, body, body.root, counter.element);
  if (limit.kind != Scalar::Kind::kConstant || start.kind != Scalar::Kind::kConstant ||
      next.kind != Scalar::Kind::kCounter || next.element != counter.element) {
    return nullopt;
  }
  int64_t first;
  if (__builtin_add_overflow(start.value, counter.value, &first)) return nullopt;
  return CountPasses(comparison->direction, first, next.value, limit.value);
}

}  // namespace mallocmuzero
