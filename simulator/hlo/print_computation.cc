#include "simulator/hlo/print_computation.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "simulator/hlo/opcode.h"
#include "simulator/hlo/print_attributes.h"
#include "simulator/hlo/shape_from_proto.h"

namespace mallocmuzero::hlo {
namespace {

using xla::HloComputationProto;
using xla::HloInstructionProto;

absl::Status Error(absl::string_view field, absl::string_view expected, int64_t found) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": expected ", expected, ", found ", found));
}

// The name of the attribute in which XLA prints the computations that an instruction calls, in the
// order of their ids.
absl::string_view CallName(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kCall:
    case Opcode::kMap:
    case Opcode::kReduce:
    case Opcode::kReduceScatter:
    case Opcode::kReduceWindow:
    case Opcode::kScatter:
    case Opcode::kSort:
    case Opcode::kTopK:
      return "to_apply";
    case Opcode::kConditional:
      return "branch_computations";
    case Opcode::kCustomCall:
      return "called_computations";
    default:
      return "calls";
  }
}

class ComputationPrinter {
 public:
  ComputationPrinter(const ProtoModule& module, int index, std::string& out)
      : module_(module),
        index_(index),
        computation_(module.proto.computations(index)),
        out_(out),
        printed_(computation_.instructions_size(), false),
        wrapped_(computation_.instructions_size(), nullptr) {}

  absl::Status Print();

 private:
  absl::Status IndexInstructions();
  absl::Status Order(std::vector<int>& order) const;
  absl::Status PrintInstruction(int slot);
  absl::Status PrintOpcodeAndOperands(int slot);
  void FindWrapped(int slot);
  absl::Status PrintNames(absl::string_view field, const google::protobuf::RepeatedField<int64_t>&);
  absl::Status PrintCallee(int64_t id);
  absl::Status PrintCalls(const HloInstructionProto& instruction);
  absl::Status PrintCall(absl::string_view name, int64_t id);

  const ProtoModule& module_;
  const int index_;
  const HloComputationProto& computation_;
  std::string& out_;
  absl::flat_hash_map<int64_t, int> slot_of_id_;  // index into computation_.instructions()
  std::vector<bool> printed_;
  // For each slot that holds an async-start, or an async-update or async-done that follows one, the
  // wrapped instruction. The wrapped instruction is printed in place of them.
  std::vector<const HloInstructionProto*> wrapped_;
};

absl::Status ComputationPrinter::IndexInstructions() {
  for (int slot = 0; slot < computation_.instructions_size(); ++slot) {
    const HloInstructionProto& instruction = computation_.instructions(slot);
    if (!IsPrintableName(instruction.name())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "instructions[", slot, "].name: expected letters, digits, '_', '.' and '-', at most ",
          kMaxNameBytes));
    }
    if (!slot_of_id_.emplace(instruction.id(), slot).second) {
      return Error("instructions.id", "a number that is not taken yet", instruction.id());
    }
  }
  if (slot_of_id_.contains(computation_.root_id())) return absl::OkStatus();
  return Error("root_id", "the id of an instruction", computation_.root_id());
}

absl::Status ComputationPrinter::Order(std::vector<int>& order) const {
  const auto& sequences = module_.proto.schedule().sequences();
  const auto sequence = sequences.find(computation_.id());
  if (sequence == sequences.end()) {
    for (int slot = 0; slot < computation_.instructions_size(); ++slot) order.push_back(slot);
    return absl::OkStatus();
  }
  std::vector<bool> taken(computation_.instructions_size(), false);
  for (const int64_t id : sequence->second.instruction_ids()) {
    const auto slot = slot_of_id_.find(id);
    if (slot == slot_of_id_.end() || taken[slot->second]) {
      return Error("schedule", "each instruction of the computation once", id);
    }
    taken[slot->second] = true;
    order.push_back(slot->second);
  }
  if (order.size() == taken.size()) return absl::OkStatus();
  return Error("schedule", absl::StrCat(taken.size(), " instructions"), order.size());
}

absl::Status ComputationPrinter::Print() {
  absl::Status status = IndexInstructions();
  std::vector<int> order;
  if (status.ok()) status = Order(order);
  if (!status.ok()) return status;
  absl::StrAppend(&out_, "%", computation_.name(), " {\n");
  for (const int slot : order) {
    status = PrintInstruction(slot);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("%", computation_.instructions(slot).name(), ": ", status.message()));
    }
    printed_[slot] = true;
  }
  out_.append("}\n");
  return absl::OkStatus();
}

absl::Status ComputationPrinter::PrintInstruction(int slot) {
  const HloInstructionProto& instruction = computation_.instructions(slot);
  const absl::StatusOr<Shape> shape = ShapeFromProto(instruction.shape());
  if (!shape.ok()) return shape.status();
  absl::StrAppend(&out_, instruction.id() == computation_.root_id() ? "  ROOT %" : "  %",
                  instruction.name(), " = ", ShapeToString(*shape), " ");
  FindWrapped(slot);
  absl::Status status = PrintOpcodeAndOperands(slot);
  const bool starts = OpcodeFromName(instruction.opcode()) == Opcode::kAsyncStart;
  const HloInstructionProto& described =
      starts && wrapped_[slot] != nullptr ? *wrapped_[slot] : instruction;
  if (status.ok()) status = AppendOwnAttributes(described, out_);
  if (status.ok()) status = PrintCalls(described);
  if (status.ok() && !instruction.control_predecessor_ids().empty()) {
    out_.append(", control-predecessors={");
    status = PrintNames("control_predecessor_ids", instruction.control_predecessor_ids());
    out_.push_back('}');
  }
  if (!status.ok()) return status;
  AppendCompilerNotes(instruction, out_);
  out_.push_back('\n');
  if (out_.size() <= module_.max_bytes) return absl::OkStatus();
  return Error("text", absl::StrCat("at most ", module_.max_bytes, " bytes"), out_.size());
}

// Finds the wrapped instruction. For an async-start it is in the called computation; an
// async-update or async-done has the same one as its first operand.
void ComputationPrinter::FindWrapped(int slot) {
  const HloInstructionProto& instruction = computation_.instructions(slot);
  const Opcode opcode = OpcodeFromName(instruction.opcode());
  if (opcode == Opcode::kAsyncStart && instruction.called_computation_ids_size() == 1) {
    const auto callee = module_.computation_of_id.find(instruction.called_computation_ids(0));
    if (callee == module_.computation_of_id.end() || callee->second >= index_) return;
    const HloInstructionProto* const root = module_.wrapped[callee->second];
    if (IsPrintedInPlace(root)) wrapped_[slot] = root;
  } else if ((opcode == Opcode::kAsyncUpdate || opcode == Opcode::kAsyncDone) &&
             !instruction.operand_ids().empty()) {
    const auto operand = slot_of_id_.find(instruction.operand_ids(0));
    if (operand != slot_of_id_.end()) wrapped_[slot] = wrapped_[operand->second];
  }
}

absl::Status ComputationPrinter::PrintOpcodeAndOperands(int slot) {
  const HloInstructionProto& instruction = computation_.instructions(slot);
  if (!IsPrintableName(instruction.opcode())) {
    return absl::InvalidArgumentError("opcode: expected a name of letters, digits and '-'");
  }
  absl::string_view opcode = instruction.opcode();
  if (wrapped_[slot] != nullptr) {
    absl::ConsumePrefix(&opcode, "async");  // async-start becomes slice-start
    out_.append(wrapped_[slot]->opcode());
  }
  absl::StrAppend(&out_, opcode, "(");
  const Opcode known = OpcodeFromName(instruction.opcode());
  absl::Status status;
  if (known == Opcode::kParameter) {
    absl::StrAppend(&out_, instruction.parameter_number());
  } else if (known == Opcode::kConstant) {
    out_.append(LiteralText(instruction.literal()));
  } else {
    status = PrintNames("operand_ids", instruction.operand_ids());
  }
  out_.push_back(')');
  return status;
}

absl::Status ComputationPrinter::PrintNames(absl::string_view field,
                                            const google::protobuf::RepeatedField<int64_t>& ids) {
  absl::string_view separator;
  for (const int64_t id : ids) {
    const auto slot = slot_of_id_.find(id);
    if (slot == slot_of_id_.end() || !printed_[slot->second]) {
      return Error(field, "the id of an instruction that comes before this one", id);
    }
    absl::StrAppend(&out_, separator, "%", computation_.instructions(slot->second).name());
    separator = ", ";
    if (out_.size() > module_.max_bytes) break;  // reported in PrintInstruction
  }
  return absl::OkStatus();
}

absl::Status ComputationPrinter::PrintCallee(int64_t id) {
  const auto callee = module_.computation_of_id.find(id);
  if (callee == module_.computation_of_id.end() || callee->second >= index_) {
    return Error("called_computation_ids", "the id of a computation that comes before this one",
                 id);
  }
  absl::StrAppend(&out_, "%", module_.proto.computations(callee->second).name());
  return absl::OkStatus();
}

absl::Status ComputationPrinter::PrintCalls(const HloInstructionProto& instruction) {
  const auto& ids = instruction.called_computation_ids();
  const Opcode opcode = OpcodeFromName(instruction.opcode());
  // For an async-update or async-done, the call is printed at its async-start.
  if (ids.empty() || opcode == Opcode::kAsyncUpdate || opcode == Opcode::kAsyncDone) {
    return absl::OkStatus();
  }
  // A while has the ids of its body and condition in this order, but its text names the condition
  // first.
  if (opcode == Opcode::kWhile && ids.size() == 2) {
    absl::Status status = PrintCall("condition", ids[1]);
    return status.ok() ? PrintCall("body", ids[0]) : status;
  }
  if (opcode == Opcode::kSelectAndScatter && ids.size() == 2) {
    absl::Status status = PrintCall("select", ids[0]);
    return status.ok() ? PrintCall("scatter", ids[1]) : status;
  }
  absl::StrAppend(&out_, ", ", CallName(opcode), ids.size() == 1 ? "=" : "={");
  absl::string_view separator;
  for (const int64_t id : ids) {
    absl::StrAppend(&out_, std::exchange(separator, ", "));
    absl::Status status = PrintCallee(id);
    if (!status.ok()) return status;
    if (out_.size() > module_.max_bytes) break;  // reported in PrintInstruction
  }
  if (ids.size() != 1) out_.push_back('}');
  return absl::OkStatus();
}

absl::Status ComputationPrinter::PrintCall(absl::string_view name, int64_t id) {
  absl::StrAppend(&out_, ", ", name, "=");
  return PrintCallee(id);
}

}  // namespace

bool IsPrintableName(absl::string_view name) {
  const auto is_printable = [](char byte) {
    return absl::ascii_isalnum(byte) || byte == '_' || byte == '.' || byte == '-';
  };
  return !name.empty() && name.size() <= kMaxNameBytes &&
         std::all_of(name.begin(), name.end(), is_printable);
}

// The printed name must not be an opcode of its own, as copy-start is.
bool IsPrintedInPlace(const HloInstructionProto* root) {
  if (root == nullptr) return false;
  const Opcode opcode = OpcodeFromName(root->opcode());
  return opcode != Opcode::kUnknown && opcode != Opcode::kParameter &&
         opcode != Opcode::kConstant && opcode != Opcode::kAsyncStart &&
         opcode != Opcode::kAsyncUpdate && opcode != Opcode::kAsyncDone &&
         OpcodeFromName(absl::StrCat(root->opcode(), "-start")) == Opcode::kUnknown;
}

absl::Status AppendComputation(const ProtoModule& module, int index, std::string& out) {
  return ComputationPrinter(module, index, out).Print();
}

}  // namespace mallocmuzero::hlo
