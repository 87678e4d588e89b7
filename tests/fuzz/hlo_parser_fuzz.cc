// libFuzzer target: any bytes give a module that keeps its promises, or an error of one line.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "simulator/hlo/lexer.h"
#include "simulator/hlo/module.h"
#include "simulator/hlo/shape_parser.h"
#include "tests/fuzz/require.h"

namespace mallocmuzero::hlo {
namespace {

void CheckShape(const Shape& shape) {
  ForEachLeaf(shape, [&shape](absl::Span<const int32_t> index, const Shape& leaf) {
    Require(SubShape(shape, index) == &leaf);
    Require(ShapeByteSize(leaf) >= 0);
    Require(ElementCount(leaf) >= 0);
  });
  const std::string text = ShapeToString(shape);
  Lexer lexer(text, "shape");
  Shape again;
  Require(ParseShape(lexer, again) && lexer.AtEnd() && again == shape);
}

void CheckInstruction(const Module& module, const Computation& computation,
                      InstructionIndex index) {
  const Instruction& instruction = computation.instructions[index];
  Require(computation.Find(instruction.name) == index);
  Require(instruction.is_root == (computation.root == index));
  CheckShape(instruction.shape);
  for (const InstructionIndex operand : instruction.operands) {
    Require(operand >= 0 && operand < index);
  }
  for (const InstructionIndex before : instruction.control_predecessors) {
    Require(before >= 0 && before < index);
  }
  for (const CalledComputation& call : instruction.called_computations) {
    Require(call.computation >= 0 && call.computation < module.computations.size());
  }
  for (const OutputOperandAlias& alias : instruction.output_to_operand_aliasing) {
    Require(alias.operand >= 0 && alias.operand < instruction.operands.size());
  }
  Require(instruction.estimated_cycles.value_or(0) >= 0);
  Require(instruction.known_trip_count.value_or(0) >= 0);
}

void CheckModule(const Module& module) {
  Require(module.entry >= 0 && module.entry < module.computations.size());
  for (const Computation& computation : module.computations) {
    Require(!computation.instructions.empty());
    for (size_t i = 0; i < computation.instructions.size(); ++i) {
      CheckInstruction(module, computation, static_cast<InstructionIndex>(i));
    }
    for (size_t i = 0; i < computation.parameters.size(); ++i) {
      Require(computation.instructions[computation.parameters[i]].parameter_number == i);
    }
  }
}

}  // namespace
}  // namespace mallocmuzero::hlo

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using mallocmuzero::Require;
  const auto module = mallocmuzero::hlo::ParseModule(
      std::string(reinterpret_cast<const char*>(data), size), "fuzz.hlo");
  if (module.ok()) {
    mallocmuzero::hlo::CheckModule(*module);
    return 0;
  }
  const absl::string_view message = module.status().message();
  Require(module.status().code() == absl::StatusCode::kInvalidArgument);
  Require(absl::StartsWith(message, "fuzz.hlo:") && absl::StrContains(message, ": expected "));
  mallocmuzero::CheckError(module.status());
  return 0;
}
