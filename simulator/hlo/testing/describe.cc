#include "simulator/hlo/testing/describe.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/enums.h"

namespace mallocmuzero::hlo {
namespace {

std::string Braced(const ShapeIndex& index) {
  return absl::StrCat("{", absl::StrJoin(index, ","), "}");
}

template <typename Value>
std::string OrNone(const absl::optional<Value>& value) {
  return value.has_value() ? absl::StrCat(*value) : "none";
}

// The literal if it is an integer or a truth value, else "". -0 counts as 0, as in XLA's own
// parser.
std::string Countable(absl::string_view literal) {
  if (literal == "true" || literal == "false") return std::string(literal);
  int64_t number;
  return absl::SimpleAtoi(literal, &number) ? absl::StrCat(number) : "";
}

std::string Names(const Computation& computation, const auto& indices) {
  return absl::StrJoin(indices, ",", [&](std::string* out, InstructionIndex index) {
    absl::StrAppend(out, computation.instructions[index].name);
  });
}

std::string Calls(const Module& module, const Instruction& instruction) {
  return absl::StrJoin(instruction.called_computations, ",",
                       [&](std::string* out, const CalledComputation& call) {
                         absl::StrAppend(out, Underlying(call.role), ":",
                                         module.computations[call.computation].name);
                       });
}

std::string FromCompiler(const Instruction& instruction) {
  std::string text =
      absl::StrCat(" trips ", OrNone(instruction.known_trip_count), " cycles ",
                   OrNone(instruction.estimated_cycles), " op_name ", instruction.op_name);
  for (const ScopedMemory& memory : instruction.scoped_memory) {
    absl::StrAppend(&text, " scoped ", memory.memory_space, ":", memory.offset, ":", memory.size);
  }
  for (const std::vector<int32_t>& list : instruction.aliasing_operands) {
    absl::StrAppend(&text, " share ", absl::StrJoin(list, ","));
  }
  return text;
}

std::string DescribeInstruction(const Module& module, const Computation& computation,
                                const Instruction& instruction) {
  std::string text = absl::StrCat(
      instruction.is_root ? "ROOT " : "", instruction.name, " = ", ShapeToString(instruction.shape),
      " ", instruction.opcode_text, " ", OpcodeName(instruction.opcode), " ",
      OpcodeName(instruction.wrapped_opcode), "(", Names(computation, instruction.operands), ")");
  absl::StrAppend(&text, " after ", Names(computation, instruction.control_predecessors), " calls ",
                  Calls(module, instruction), " parameter ", OrNone(instruction.parameter_number),
                  " index ", OrNone(instruction.tuple_index), " prefetch ",
                  OrNone(instruction.cross_program_prefetch_index));
  absl::StrAppend(&text, " literal ", Countable(instruction.literal), " target ",
                  instruction.custom_call_target);
  for (const OutputOperandAlias& alias : instruction.output_to_operand_aliasing) {
    absl::StrAppend(&text, " alias ", Braced(alias.output_index), ":", alias.operand,
                    Braced(alias.operand_index));
  }
  for (const Attribute& attribute : instruction.attributes) {
    absl::StrAppend(&text, " ", attribute.name, "=", attribute.value);
  }
  return absl::StrCat(text, FromCompiler(instruction));
}

}  // namespace

std::vector<std::string> Describe(const Module& module) {
  std::vector<std::string> lines;
  std::string& header = lines.emplace_back(
      absl::StrCat(module.name, module.is_scheduled ? " scheduled" : "", " entry ", module.entry));
  for (const InputOutputAlias& alias : module.input_output_aliases) {
    absl::StrAppend(&header, " alias ", Braced(alias.output_index), ":", alias.parameter_number,
                    Braced(alias.parameter_index), alias.must_alias ? "must" : "may");
  }
  for (const Computation& computation : module.computations) {
    lines.push_back(
        absl::StrCat(computation.name, " parameters ", Names(computation, computation.parameters)));
    for (const Instruction& instruction : computation.instructions) {
      lines.push_back(DescribeInstruction(module, computation, instruction));
    }
  }
  return lines;
}

std::string FirstDifference(const Module& left, const Module& right) {
  const std::vector<std::string> left_lines = Describe(left);
  const std::vector<std::string> right_lines = Describe(right);
  const auto [l, r] =
      std::mismatch(left_lines.begin(), left_lines.end(), right_lines.begin(), right_lines.end());
  if (l == left_lines.end() && r == right_lines.end()) return "";
  return absl::StrCat(l == left_lines.end() ? "(end)" : *l, "\n",
                      r == right_lines.end() ? "(end)" : *r);
}

}  // namespace mallocmuzero::hlo
