#include "simulator/place/fast_memory_values.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "base/size32.h"
#include "simulator/import/analysis/dataflow.h"

namespace mallocmuzero::place {
namespace {

using hlo::Opcode;

class Collector {
 public:
  Collector(const AnalyzedModule& placed, const hlo::Module& all_hbm, int64_t fast_memory_space)
      : placed_(placed),
        fast_memory_space_(fast_memory_space),
        number_of_(placed.flow.values().size(), -1),
        joined_to_(placed.flow.storage_count()) {
    for (const hlo::Computation& computation : all_hbm.computations) {
      for (const hlo::Instruction& instruction : computation.instructions) {
        if (instruction.aliasing_operands.empty()) continue;
        listed_[{computation.name, instruction.name}] = ListedPairs(instruction);
      }
    }
    std::iota(joined_to_.begin(), joined_to_.end(), 0);
    for (const CarriedValue& carried : placed.flow.carried()) {
      for (const ValueId value : {carried.parameter, carried.root, carried.result}) {
        JoinBuffers(carried.initial, value);
      }
    }
  }

  std::vector<PackedValue> Collect() && {
    const std::vector<Step>& steps = placed_.schedule.steps;
    for (size_t time = 0; time < steps.size(); ++time) Visit(steps[time], time);
    EndCarriedValues();
    ShareBuffers();
    return std::move(values_);
  }

 private:
  // Follows the storages that have been joined to the one that stands for their buffer.
  int32_t BufferOf(ValueId value) {
    int32_t storage = placed_.flow.StorageOf(value);
    while (joined_to_[storage] != storage) {
      storage = joined_to_[storage] = joined_to_[joined_to_[storage]];
    }
    return storage;
  }

  void JoinBuffers(ValueId a, ValueId b) { joined_to_[BufferOf(b)] = BufferOf(a); }

  void Visit(const Step& step, int64_t time) {
    const hlo::Instruction& instruction = placed_.schedule.InstructionAt(step);
    if (step.kind == Step::Kind::kLoopBegin) {
      UseOperands(step, time);
      return;
    }
    const bool passes_on =
        instruction.opcode == Opcode::kTuple || instruction.opcode == Opcode::kGetTupleElement;
    // A value that a loop passes on unchanged is in use at the end of the loop.
    if (step.kind == Step::Kind::kLoopEnd) {
      for (const ValueId value : ValuesOf(step)) Use(value, time);
    } else if (!passes_on) {
      UseOperands(step, time);
    }
    for (const ValueId value : ValuesOf(step)) Define(value, step, time);
  }

  absl::Span<const ValueId> ValuesOf(const Step& step) const {
    return placed_.flow.ValuesOf(step.instance, step.instruction);
  }

  void UseOperands(const Step& step, int64_t time) {
    for (const hlo::InstructionIndex operand : placed_.schedule.InstructionAt(step).operands) {
      for (const ValueId value : placed_.flow.ValuesOf(step.instance, operand)) Use(value, time);
    }
  }

  void Use(ValueId value, int64_t time) {
    const int32_t number = number_of_[value];
    if (number >= 0) values_[number].last = std::max(values_[number].last, time);
  }

  void Define(ValueId value, const Step& step, int64_t time) {
    const HloValue& made = placed_.flow.values()[value];
    if (number_of_[value] >= 0 || made.shape->layout.memory_space != fast_memory_space_) return;
    number_of_[value] = Size32(values_);
    ids_.push_back(value);
    steps_.push_back(step);
    values_.push_back({.bytes = hlo::ShapeByteSize(*made.shape), .first = time, .last = time});
  }

  // A value that one pass of a loop hands to the next lives to the end of the pass.
  void EndCarriedValues() {
    for (const CarriedValue& carried : placed_.flow.carried()) {
      Use(carried.root, placed_.schedule.loops[carried.loop].end);
    }
  }

  void ShareBuffers() {
    const std::vector<int32_t> order = InOrderOfTime(values_);
    std::map<int32_t, std::vector<int32_t>> members;  // for each buffer, in order of time
    for (const int32_t number : order) members[BufferOf(ids_[number])].push_back(number);
    for (const int32_t number : order) {
      const std::vector<int32_t>& buffer = members[BufferOf(ids_[number])];
      if (buffer.front() != number) {
        values_[number].sharing = Sharing::kMust;
        values_[number].shares_with = buffer.front();
      } else if (buffer.size() == 1) {
        TakeBytesOfOperand(number, members);
      }
    }
  }

  void TakeBytesOfOperand(int32_t number, const std::map<int32_t, std::vector<int32_t>>& members) {
    const Step& step = steps_[number];
    const hlo::Instruction& instruction = placed_.schedule.InstructionAt(step);
    const absl::string_view computation = placed_.schedule.ComputationOf(step.instance).name;
    const auto listed = listed_.find({computation, instruction.name});
    if (listed == listed_.end()) return;
    for (const InPlacePair& pair : listed->second) {
      if (pair.output_leaf != placed_.flow.values()[ids_[number]].leaf) continue;
      // In a module that no compiler made, the list may be that of an instruction of equal name.
      if (pair.operand >= instruction.operands.size()) continue;
      const hlo::InstructionIndex index = instruction.operands[pair.operand];
      const absl::Span<const ValueId> operand = placed_.flow.ValuesOf(step.instance, index);
      if (operand.size() != 1 || number_of_[operand[0]] < 0) continue;
      const HloValue& made = placed_.flow.values()[operand[0]];
      const int32_t other = number_of_[operand[0]];
      if (made.instance != step.instance || made.instruction != index ||
          values_[other].last != values_[number].first || taken_.contains(other) ||
          members.at(BufferOf(operand[0])).size() > 1) {
        continue;
      }
      taken_.insert(other);
      values_[number].sharing = Sharing::kMay;
      values_[number].shares_with = other;
      return;
    }
  }

  const AnalyzedModule& placed_;
  const int64_t fast_memory_space_;
  // The keys are names of a computation and of an instruction in it.
  absl::flat_hash_map<std::pair<absl::string_view, absl::string_view>, std::vector<InPlacePair>>
      listed_;
  std::vector<int32_t> number_of_;  // for each value id; -1: not in fast memory
  // For each storage: another one with the same buffer, because a loop joins them, or itself.
  std::vector<int32_t> joined_to_;
  std::vector<PackedValue> values_;
  std::vector<ValueId> ids_;            // for each value by its number
  std::vector<Step> steps_;             // for each value by its number: where it is made
  absl::flat_hash_set<int32_t> taken_;  // numbers of values whose bytes another value takes over
};

}  // namespace

std::vector<PackedValue> FastMemoryValues(const AnalyzedModule& placed, const hlo::Module& all_hbm,
                                          int64_t fast_memory_space) {
  return Collector(placed, all_hbm, fast_memory_space).Collect();
}

}  // namespace mallocmuzero::place
