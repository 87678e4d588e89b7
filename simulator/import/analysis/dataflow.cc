#include "simulator/import/analysis/dataflow.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/size32.h"
#include "base/union_find.h"

namespace mallocmuzero {
namespace {

using hlo::Opcode;

}  // namespace

class DataflowBuilder {
 public:
  DataflowBuilder(const Schedule& schedule, const InPlaceHints& hints, absl::string_view file_name)
      : schedule_(schedule), hints_(hints), file_name_(file_name) {
    flow_.values_of_.resize(schedule.instances.size());
    bindings_.resize(schedule.instances.size());
    for (int32_t i = 0; i < schedule.loops.size(); ++i) {
      loop_at_[{schedule.loops[i].instance, schedule.loops[i].instruction}] = i;
    }
    for (int32_t i = 0; i < schedule.calls.size(); ++i) {
      call_at_[{schedule.calls[i].instance, schedule.calls[i].instruction}] = i;
    }
  }

  absl::StatusOr<Dataflow> Run() && {
    absl::Status status = Visit(0);
    if (!status.ok()) return status;
    Finish();
    return std::move(flow_);
  }

 private:
  using Leaves = std::vector<ValueId>;

  absl::Status Error(const hlo::Instruction& at, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_name_, ":", at.line, ":1: %", at.name, ": expected ", what));
  }

  absl::Status Visit(int32_t instance) {
    const hlo::Computation& computation = schedule_.ComputationOf(instance);
    auto& values_of = flow_.values_of_[instance];
    values_of.resize(computation.instructions.size());
    for (int32_t i = 0; i < computation.instructions.size(); ++i) {
      absl::StatusOr<Leaves> leaves = Evaluate(instance, i);
      if (!leaves.ok()) return leaves.status();
      if (leaves->size() != hlo::LeafCount(computation.instructions[i].shape)) {
        return Error(computation.instructions[i],
                     absl::StrCat("a shape of ", leaves->size(), " arrays, as its operands have"));
      }
      values_of[i] = *std::move(leaves);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Leaves> Evaluate(int32_t instance, hlo::InstructionIndex index) {
    const hlo::Instruction& instruction = schedule_.ComputationOf(instance).instructions[index];
    const auto operand = [&](int i) -> const Leaves& {
      return flow_.values_of_[instance][instruction.operands[i]];
    };
    const auto needs = [&](size_t count) { return instruction.operands.size() >= count; };
    switch (instruction.opcode) {
      case Opcode::kParameter:
        return instance == 0 ? Define(instance, index) : Bound(instance, instruction);
      case Opcode::kGetTupleElement:
        return Element(instance, instruction, *instruction.tuple_index);
      case Opcode::kTuple: {
        Leaves all;
        for (int i = 0; i < instruction.operands.size(); ++i) {
          all.insert(all.end(), operand(i).begin(), operand(i).end());
        }
        return all;
      }
      case Opcode::kBitcast:
      case Opcode::kOptimizationBarrier:
      case Opcode::kDomain:
      case Opcode::kAddDependency:
      case Opcode::kAllReduceDone:
        return needs(1) ? absl::StatusOr<Leaves>(operand(0)) : Error(instruction, "an operand");
      case Opcode::kCopyDone:
        return needs(1) ? Element(instance, instruction, 0) : Error(instruction, "an operand");
      case Opcode::kAsyncDone:
      case Opcode::kAllGatherDone:
      case Opcode::kCollectivePermuteDone:
        return needs(1) ? Element(instance, instruction, 1) : Error(instruction, "an operand");
      case Opcode::kAsyncUpdate:
        if (BindsOperands(instruction)) return EvaluateStart(instance, index);
        return needs(1) ? absl::StatusOr<Leaves>(operand(0)) : Error(instruction, "an operand");
      case Opcode::kAsyncStart:
        if (needs(1)) return EvaluateStart(instance, index);
        // An async-update may bring the operands, except those of a copy.
        if (IsAsyncCopyStart(instruction)) return Error(instruction, "an operand");
        return Define(instance, index);
      case Opcode::kCopyStart:
      case Opcode::kAllGatherStart:
      case Opcode::kCollectivePermuteStart:
        return needs(1) ? EvaluateStart(instance, index) : Error(instruction, "an operand");
      case Opcode::kSend:
        return needs(1) ? EvaluateTransfer(instance, index, operand(0))
                        : Error(instruction, "an operand");
      case Opcode::kRecvDone: {
        if (!needs(1)) return Error(instruction, "an operand");
        const absl::StatusOr<Leaves> received = Element(instance, instruction, 0);
        return received.ok() ? EvaluateTransfer(instance, index, *received) : received;
      }
      case Opcode::kWhile:
        return EvaluateWhile(instance, index);
      case Opcode::kConditional:
        return EvaluateConditional(instance, index);
      case Opcode::kCall:
        return EvaluateCall(instance, index);
      default:
        return EvaluateComputing(instance, index);
    }
  }

  // Makes new values for all leaves of the instruction's shape.
  Leaves Define(int32_t instance, hlo::InstructionIndex index) {
    const hlo::Instruction& instruction = schedule_.ComputationOf(instance).instructions[index];
    Leaves leaves;
    hlo::ForEachLeaf(instruction.shape, [&](absl::Span<const int32_t>, const hlo::Shape& shape) {
      const auto leaf = Size32(leaves);
      leaves.push_back(static_cast<ValueId>(flow_.values_.size()));
      flow_.values_.push_back({instance, index, leaf, &shape});
    });
    same_value_.Grow(flow_.values_.size());
    same_storage_.Grow(flow_.values_.size());
    return leaves;
  }

  absl::StatusOr<Leaves> Bound(int32_t instance, const hlo::Instruction& parameter) const {
    const int32_t number = parameter.parameter_number.value_or(-1);
    if (number < 0 || number >= bindings_[instance].size()) {
      return Error(parameter, "a parameter number that the caller passes");
    }
    return bindings_[instance][number];
  }

  // The range of leaves of element `element` of the tuple `shape`, as {first, count}. The shape
  // must be part of the module. The count is -1 if there is no such element.
  std::pair<int32_t, int32_t> LeafRange(const hlo::Shape& shape, int32_t element) {
    if (!shape.IsTuple() || element < 0 || element >= shape.tuple_shapes.size()) return {0, -1};
    std::vector<int32_t>& starts = leaf_starts_[&shape];
    if (starts.empty()) {
      starts.push_back(0);
      for (const hlo::Shape& part : shape.tuple_shapes) {
        starts.push_back(starts.back() + hlo::LeafCount(part));
      }
    }
    return {starts[element], starts[element + 1] - starts[element]};
  }

  absl::StatusOr<Leaves> Element(int32_t instance, const hlo::Instruction& instruction,
                                 int32_t element) {
    const hlo::InstructionIndex source = instruction.operands[0];
    const hlo::Shape& shape = schedule_.ComputationOf(instance).instructions[source].shape;
    const auto [first, count] = LeafRange(shape, element);
    if (count < 0) return Error(instruction, absl::StrCat("an operand with element ", element));
    const Leaves& leaves = flow_.values_of_[instance][source];
    return Leaves(leaves.begin() + first, leaves.begin() + first + count);
  }

  // The shape of a copy-start is (target, source, context), that of an async-start ((operands),
  // results, contexts). An async-start without operands gets them from its async-update, which then
  // has that shape.
  absl::StatusOr<Leaves> EvaluateStart(int32_t instance, hlo::InstructionIndex index) {
    const hlo::Instruction& instruction = schedule_.ComputationOf(instance).instructions[index];
    Leaves leaves = Define(instance, index);
    const bool is_copy = instruction.opcode == Opcode::kCopyStart;
    const auto [results, result_count] = LeafRange(instruction.shape, is_copy ? 0 : 1);
    const auto [sources, source_count] = LeafRange(instruction.shape, is_copy ? 1 : 0);
    absl::Span<const hlo::InstructionIndex> sent = instruction.operands;
    if (BindsOperands(instruction)) sent.remove_prefix(1);
    const Leaves& operand = flow_.values_of_[instance][sent[0]];
    if (result_count < 1 || source_count < 1 || operand.empty()) {
      return Error(instruction, "a tuple of operands, results and contexts");
    }
    if (IsAsyncCopyStart(instruction)) {
      for (int32_t i = results; i < results + result_count; ++i) {
        flow_.values_[leaves[i]].copied_from = operand[0];
      }
    }
    int32_t next = sources;
    for (hlo::InstructionIndex source : sent) {
      for (ValueId value : flow_.values_of_[instance][source]) {
        if (next < sources + source_count) leaves[next++] = value;
      }
    }
    if (instruction.opcode == Opcode::kCollectivePermuteStart) {
      ShareOwnPairs(instance, instruction, leaves);
    }
    return leaves;
  }

  // The shape of a send is (operand, context, token), that of a recv-done (what the recv got,
  // token).
  absl::StatusOr<Leaves> EvaluateTransfer(int32_t instance, hlo::InstructionIndex index,
                                          const Leaves& transferred) {
    const hlo::Instruction& instruction = schedule_.ComputationOf(instance).instructions[index];
    Leaves leaves = Define(instance, index);
    const auto [first, count] = LeafRange(instruction.shape, 0);
    if (count != std::ssize(transferred)) {
      return Error(instruction, "a tuple that begins with what is sent or received");
    }
    std::copy(transferred.begin(), transferred.end(), leaves.begin() + first);
    return leaves;
  }

  // Visits a called computation, whose parameters are bound. Returns the values of its root.
  absl::StatusOr<Leaves> VisitForRoot(int32_t instance) {
    absl::Status status = Visit(instance);
    if (!status.ok()) return status;
    return flow_.values_of_[instance][schedule_.ComputationOf(instance).root];
  }

  bool TakesOneValue(int32_t instance) const {
    return schedule_.ComputationOf(instance).parameters.size() == 1;
  }

  absl::StatusOr<Leaves> EvaluateWhile(int32_t instance, hlo::InstructionIndex index) {
    const hlo::Computation& computation = schedule_.ComputationOf(instance);
    const hlo::Instruction& instruction = computation.instructions[index];
    const int32_t loop_index = loop_at_.at({instance, index});
    const ScheduledLoop& loop = schedule_.loops[loop_index];
    const Leaves initial = flow_.values_of_[instance][instruction.operands[0]];

    const hlo::Computation& body = schedule_.ComputationOf(loop.body);
    if (!TakesOneValue(loop.body)) return Error(instruction, "a body with one parameter");
    if (!TakesOneValue(loop.condition)) return Error(instruction, "a condition with one parameter");
    const Leaves parameter = Define(loop.body, body.parameters[0]);
    if (parameter.size() != initial.size()) return Error(instruction, "the shape its body takes");
    bindings_[loop.body] = {parameter};
    absl::StatusOr<Leaves> root = VisitForRoot(loop.body);
    if (!root.ok()) return root;
    if (root->size() != initial.size()) return Error(instruction, "the shape its body returns");
    bindings_[loop.condition] = {*root};
    absl::Status status = Visit(loop.condition);
    if (!status.ok()) return status;

    Leaves result = Define(instance, index);
    if (result.size() != initial.size()) return Error(instruction, "the shape its body returns");
    for (size_t i = 0; i < initial.size(); ++i) {
      if (same_value_.Find((*root)[i]) == same_value_.Find(parameter[i])) {
        same_value_.Union(parameter[i], initial[i]);
        same_value_.Union(result[i], initial[i]);
      } else {
        flow_.carried_.push_back({loop_index, initial[i], parameter[i], (*root)[i], result[i]});
      }
    }
    return result;
  }

  absl::StatusOr<Leaves> EvaluateConditional(int32_t instance, hlo::InstructionIndex index) {
    const hlo::Instruction& instruction = schedule_.ComputationOf(instance).instructions[index];
    const std::vector<int32_t>& branches = CalleesOf(instance, index);
    if (instruction.operands.size() != branches.size() + 1) {
      return Error(instruction, "one operand for each branch behind the selector");
    }
    Leaves result = Define(instance, index);
    for (size_t b = 0; b < branches.size(); ++b) {
      if (!TakesOneValue(branches[b])) return Error(instruction, "branches with one parameter");
      bindings_[branches[b]] = {flow_.values_of_[instance][instruction.operands[b + 1]]};
      absl::StatusOr<Leaves> root = VisitForRoot(branches[b]);
      if (!root.ok()) return root;
      if (root->size() != result.size()) return Error(instruction, "the shape its branches return");
      for (size_t i = 0; i < result.size(); ++i) same_storage_.Union((*root)[i], result[i]);
    }
    return result;
  }

  absl::StatusOr<Leaves> EvaluateCall(int32_t instance, hlo::InstructionIndex index) {
    const hlo::Instruction& instruction = schedule_.ComputationOf(instance).instructions[index];
    const int32_t callee = CalleesOf(instance, index).front();
    for (const hlo::InstructionIndex operand : instruction.operands) {
      bindings_[callee].push_back(flow_.values_of_[instance][operand]);
    }
    return VisitForRoot(callee);
  }

  const std::vector<int32_t>& CalleesOf(int32_t instance, hlo::InstructionIndex index) const {
    return schedule_.calls[call_at_.at({instance, index})].callees;
  }

  // Makes an array of the result, whose values are `leaves`, share the storage of an operand.
  void Share(int32_t instance, const hlo::Instruction& instruction, const InPlacePair& pair,
             const Leaves& leaves) {
    if (pair.operand < 0 || pair.operand >= instruction.operands.size()) return;
    const Leaves& source = flow_.values_of_[instance][instruction.operands[pair.operand]];
    const bool is_array = pair.operand_leaf < 0;
    const size_t operand_leaf = is_array ? 0 : pair.operand_leaf;
    if (is_array && source.size() != 1) return;
    if (operand_leaf >= source.size() || pair.output_leaf >= leaves.size()) return;
    same_storage_.Union(source[operand_leaf], leaves[pair.output_leaf]);
  }

  void ShareOwnPairs(int32_t instance, const hlo::Instruction& instruction, const Leaves& leaves) {
    const auto [pairs, is_new] = own_pairs_.try_emplace(&instruction);
    if (is_new) {
      const hlo::Computation& computation = schedule_.ComputationOf(instance);
      pairs->second = InPlacePairs(*schedule_.module, computation, instruction);
    }
    for (const InPlacePair& pair : pairs->second) Share(instance, instruction, pair, leaves);
  }

  absl::StatusOr<Leaves> EvaluateComputing(int32_t instance, hlo::InstructionIndex index) {
    const hlo::Instruction& instruction = schedule_.ComputationOf(instance).instructions[index];
    Leaves leaves = Define(instance, index);
    const auto share = [&](const InPlacePair& pair) { Share(instance, instruction, pair, leaves); };
    if (IsConcatBitcast(instruction)) {
      for (int32_t i = 0; i < instruction.operands.size(); ++i) share({i, 0});
    }
    ShareOwnPairs(instance, instruction, leaves);
    if (const auto hint = hints_.find(instruction.name); hint != hints_.end()) {
      for (const InPlacePair& pair : hint->second) share(pair);
    }
    return leaves;
  }

  // Replaces each value by the first of the values that are the same, and numbers the storages.
  void Finish() {
    for (auto& instance : flow_.values_of_) {
      for (Leaves& leaves : instance) {
        for (ValueId& value : leaves) value = same_value_.Find(value);
      }
    }
    for (CarriedValue& carried : flow_.carried_) {
      carried.initial = same_value_.Find(carried.initial);
      carried.parameter = same_value_.Find(carried.parameter);
      carried.root = same_value_.Find(carried.root);
      carried.result = same_value_.Find(carried.result);
    }
    const auto count = Size32(flow_.values_);
    for (ValueId value = 0; value < count; ++value) {
      same_storage_.Union(value, same_value_.Find(value));
      ValueId& source = flow_.values_[value].copied_from;
      if (source >= 0) source = same_value_.Find(source);
    }
    flow_.storage_of_.resize(count);
    for (ValueId value = 0; value < count; ++value) {
      const int32_t first = same_storage_.Find(value);
      flow_.storage_of_[value] = first == value ? flow_.storage_count_++ : flow_.storage_of_[first];
    }
  }

  const Schedule& schedule_;
  const InPlaceHints& hints_;
  absl::string_view file_name_;
  Dataflow flow_;
  UnionFind same_value_;
  UnionFind same_storage_;
  std::vector<std::vector<Leaves>> bindings_;  // for each instance and parameter number
  // For each tuple shape: the first leaf of each element, and then the number of all leaves. Cached
  // because many elements of one tuple may be looked up.
  absl::flat_hash_map<const hlo::Shape*, std::vector<int32_t>> leaf_starts_;
  // InPlacePairs of each instruction, which all inlined copies of it share.
  absl::flat_hash_map<const hlo::Instruction*, std::vector<InPlacePair>> own_pairs_;
  absl::flat_hash_map<std::pair<int32_t, hlo::InstructionIndex>, int32_t> loop_at_;
  absl::flat_hash_map<std::pair<int32_t, hlo::InstructionIndex>, int32_t> call_at_;
};

absl::StatusOr<Dataflow> Dataflow::Analyze(const Schedule& schedule, const InPlaceHints& hints,
                                           absl::string_view file_name) {
  return DataflowBuilder(schedule, hints, file_name).Run();
}

}  // namespace mallocmuzero
