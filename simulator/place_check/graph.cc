#include "simulator/place_check/graph.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/size32.h"
#include "base/status_macros.h"
#include "simulator/place_check/shapes.h"

namespace mallocmuzero::place_check {
namespace {

// Most calls inside each other, because walks recurse over calls. Real modules have fewer than ten.
constexpr int kMaxCallDepth = 100;

template <typename... Parts>
absl::Status Fault(const Computation& computation, absl::string_view instruction,
                   const Parts&... parts) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", instruction, "' in '", computation.name(), "': ", parts...));
}

Kind KindOf(const std::string& opcode) {
  if (opcode == "parameter") return Kind::kParameter;
  if (opcode == "tuple") return Kind::kTuple;
  if (opcode == "get-tuple-element") return Kind::kElement;
  if (opcode == "bitcast") return Kind::kBitcast;
  if (opcode == "copy-start") return Kind::kCopyStart;
  if (opcode == "copy-done") return Kind::kCopyDone;
  if (opcode == "optimization-barrier" || opcode == "opt-barrier" || opcode == "add-dependency") {
    return Kind::kBarrier;
  }
  if (opcode == "while") return Kind::kWhile;
  if (opcode == "conditional") return Kind::kConditional;
  if (opcode == "call") return Kind::kCall;
  if (opcode == "fusion") return Kind::kFusion;
  return Kind::kCompute;
}

// Checks for each kind of instruction the numbers of operands and calls on which the rest of the
// check relies. Shapes are checked elsewhere.
absl::Status CheckArity(const Computation& computation, const Instruction& instruction) {
  const size_t operands = instruction.operands.size();
  const size_t calls = instruction.calls.size();
  bool fine = true;
  switch (instruction.kind) {
    case Kind::kParameter:
      fine = operands == 0;
      break;
    case Kind::kElement:
    case Kind::kBitcast:
    case Kind::kCopyStart:
    case Kind::kCopyDone:
      fine = operands == 1;
      break;
    case Kind::kBarrier:
      fine = operands >= 1;
      break;
    case Kind::kWhile:
      fine = operands == 1 && calls == 2;
      break;
    case Kind::kConditional:
      fine = calls >= 1 && operands == calls + 1;
      break;
    case Kind::kCall:
    case Kind::kFusion:
      fine = calls == 1;
      break;
    default:
      break;
  }
  if (fine) return absl::OkStatus();
  return Fault(computation, instruction.name(), instruction.proto->opcode(), " with ", operands,
               " operands and ", calls, " called computations");
}

absl::Status ResolveInstruction(Graph& graph, Computation& computation, int index) {
  Instruction& instruction = computation.instructions[index];
  const xla::HloInstructionProto& proto = *instruction.proto;
  std::string fault = ShapeFault(proto.shape());
  for (const xla::ShapeProto& shape : proto.operand_shapes_with_layout()) {
    if (fault.empty()) fault = ShapeFault(shape);
  }
  if (!fault.empty()) return Fault(computation, proto.name(), "shape: ", fault);
  for (const int64_t id : proto.operand_ids()) {
    const auto operand = computation.by_id.find(id);
    if (operand == computation.by_id.end() || operand->second >= index) {
      return Fault(computation, proto.name(), "operand ", id, " does not come before it");
    }
    instruction.operands.push_back(operand->second);
    computation.instructions[operand->second].users.push_back(index);
  }
  for (const int64_t id : proto.control_predecessor_ids()) {
    const auto before = computation.by_id.find(id);
    if (before == computation.by_id.end()) {
      return Fault(computation, proto.name(), "unknown control predecessor ", id);
    }
    instruction.control.push_back(before->second);
  }
  for (const int64_t id : proto.called_computation_ids()) {
    const auto called = graph.by_id.find(id);
    if (called == graph.by_id.end()) {
      return Fault(computation, proto.name(), "called computation ", id,
                   " does not come before it");
    }
    instruction.calls.push_back(called->second);
  }
  instruction.kind = KindOf(proto.opcode());
  return CheckArity(computation, instruction);
}

absl::Status CheckParameters(Computation& computation) {
  for (int i = 0; i < computation.instructions.size(); ++i) {
    const Instruction& instruction = computation.instructions[i];
    if (instruction.kind != Kind::kParameter) continue;
    const int64_t number = instruction.proto->parameter_number();
    if (number < 0 || number >= computation.parameters.size() ||
        computation.parameters[number] >= 0) {
      return Fault(computation, instruction.name(), "parameter number ", number);
    }
    computation.parameters[number] = i;
  }
  return absl::OkStatus();
}

// Callees must have been built before, so that their ids are in the graph. Calls therefore have no
// cycles.
absl::Status BuildComputation(const xla::HloComputationProto& proto, Graph& graph) {
  Computation computation{.proto = &proto};
  computation.instructions.resize(proto.instructions_size());
  int parameters = 0;
  for (int i = 0; i < proto.instructions_size(); ++i) {
    computation.instructions[i].proto = &proto.instructions(i);
    parameters += proto.instructions(i).opcode() == "parameter" ? 1 : 0;
    if (!computation.by_id.emplace(proto.instructions(i).id(), i).second) {
      return Fault(computation, proto.instructions(i).name(),
                   "another instruction has the same id");
    }
  }
  computation.parameters.assign(parameters, -1);
  for (int i = 0; i < proto.instructions_size(); ++i) {
    MMZ_RETURN_IF_ERROR(ResolveInstruction(graph, computation, i));
  }
  MMZ_RETURN_IF_ERROR(CheckParameters(computation));
  const auto root = computation.by_id.find(proto.root_id());
  if (root == computation.by_id.end()) {
    return Fault(computation, computation.name(), "no instruction has the root's id");
  }
  computation.root = root->second;
  std::string fault = ShapeFault(proto.program_shape().result());
  for (const xla::ShapeProto& shape : proto.program_shape().parameters()) {
    if (fault.empty()) fault = ShapeFault(shape);
  }
  if (proto.has_program_shape() && !fault.empty()) {
    return Fault(computation, computation.name(), "program_shape: ", fault);
  }
  if (!graph.by_id.emplace(proto.id(), graph.computations.size()).second) {
    return Fault(computation, computation.name(), "another computation has the same id");
  }
  graph.computations.push_back(std::move(computation));
  return absl::OkStatus();
}

absl::Status CheckCallDepth(const Graph& graph) {
  std::vector<int> depth(graph.computations.size(), 1);
  for (size_t c = 0; c < graph.computations.size(); ++c) {
    for (const Instruction& instruction : graph.computations[c].instructions) {
      for (const int called : instruction.calls) depth[c] = std::max(depth[c], depth[called] + 1);
    }
    if (depth[c] > kMaxCallDepth) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", graph.computations[c].name(), "': calls nested too deep"));
    }
  }
  return absl::OkStatus();
}

// Marks the computations that loops, conditionals and calls run, starting from the entry, and those
// that are fused.
absl::Status MarkCallers(Graph& graph) {
  graph.computations[graph.entry].controlled = true;
  for (int c = Size32(graph.computations) - 1; c >= 0; --c) {
    const Computation& computation = graph.computations[c];
    for (const Instruction& instruction : computation.instructions) {
      for (const int callee : instruction.calls) {
        Computation& called = graph.computations[callee];
        if (instruction.kind == Kind::kFusion) called.fused = true;
        if (!computation.controlled || !IsControl(instruction.kind)) continue;
        if (called.controlled) {
          return Fault(computation, instruction.name(), "'", called.name(),
                       "' is called from two places");
        }
        called.controlled = true;
      }
    }
  }
  // The walks run a controlled computation in its own order, and a fused one has none.
  for (const Computation& computation : graph.computations) {
    if (!computation.controlled || !computation.fused) continue;
    return Fault(computation, computation.name(), "a fusion calls it, and it also runs by itself");
  }
  return absl::OkStatus();
}

// Names must be unique, because kept instructions are matched by name.
absl::Status CheckNames(const Graph& graph) {
  for (const Computation& computation : graph.computations) {
    absl::flat_hash_map<absl::string_view, int> seen;
    for (const Instruction& instruction : computation.instructions) {
      if (seen.emplace(instruction.name(), 0).second) continue;
      return Fault(computation, instruction.name(), "another instruction has the same name");
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsForwarding(Kind kind) { return kind >= Kind::kTuple && kind <= Kind::kCopyDone; }

bool StartsStatedCollective(const Instruction& instruction) {
  const std::string& opcode = instruction.proto->opcode();
  return opcode == "all-gather-start" || opcode == "collective-permute-start";
}

bool EndsStatedCollective(const Instruction& instruction) {
  const std::string& opcode = instruction.proto->opcode();
  return opcode == "all-gather-done" || opcode == "collective-permute-done";
}

bool IsLiteral(const Instruction& instruction) {
  return instruction.proto->opcode() == "constant" && instruction.proto->has_literal() &&
         !IsTuple(instruction.proto->shape()) && instruction.operands.empty() &&
         instruction.calls.empty();
}

bool IsControl(Kind kind) {
  return kind == Kind::kWhile || kind == Kind::kConditional || kind == Kind::kCall;
}

const xla::ShapeProto& Graph::RootShape(int computation) const {
  return ShapeOf(computation, computations[computation].root);
}

std::string Graph::Describe(int computation, int instruction) const {
  return absl::StrCat("'", At(computation, instruction).name(), "' in '",
                      computations[computation].name(), "'");
}

absl::StatusOr<Graph> BuildGraph(const xla::HloModuleProto& module) {
  Graph graph{.proto = &module};
  for (const xla::HloComputationProto& computation : module.computations()) {
    MMZ_RETURN_IF_ERROR(BuildComputation(computation, graph));
  }
  MMZ_RETURN_IF_ERROR(CheckCallDepth(graph));
  MMZ_RETURN_IF_ERROR(CheckNames(graph));
  const auto entry = graph.by_id.find(module.entry_computation_id());
  if (entry == graph.by_id.end()) {
    return absl::InvalidArgumentError("no computation has the entry's id");
  }
  graph.entry = entry->second;
  MMZ_RETURN_IF_ERROR(MarkCallers(graph));
  return graph;
}

}  // namespace mallocmuzero::place_check
