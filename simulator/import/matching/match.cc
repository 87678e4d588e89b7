#include "simulator/import/matching/match.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/sha256.h"
#include "simulator/core/program.h"

namespace mallocmuzero {
namespace {

// An instruction as a match compares it. The program or the module that it is from must outlive it.
struct Described {
  InstructionKind kind = InstructionKind::kEstimated;
  absl::string_view name;
  absl::string_view op_name;
  std::string result;  // opcode and shape of the result
};

std::vector<Described> Describe(const v1::Program& program) {
  std::vector<Described> described;
  for (int i = 0; i < program.instructions_size(); ++i) {
    const v1::Instruction& instruction = program.instructions(i);
    described.push_back({.kind = KindFromProto(instruction.kind()),
                         .name = instruction.name(),
                         .op_name = instruction.op_name(),
                         .result = absl::StrCat(instruction.opcode(), " ",
                                                program.source().instructions(i).shape())});
  }
  return described;
}

std::vector<Described> Describe(const AnalyzedModule& module) {
  std::vector<Described> described;
  for (const PricedStep& priced : module.priced) {
    const hlo::Instruction& instruction = *priced.instruction;
    described.push_back(
        {.kind = module.KindOf(priced),
         .name = instruction.name,
         .op_name = instruction.op_name,
         .result = absl::StrCat(instruction.opcode_text, " ",
                                hlo::ShapeToStringWithoutMemory(instruction.shape))});
  }
  return described;
}

// Two instructions of the same name match only if opcode and shape are equal, too.
std::string NameKey(const Described& step) {
  const char* marker = step.kind == InstructionKind::kLoopBegin ? "<"
                       : step.kind == InstructionKind::kLoopEnd ? ">"
                                                                : "";
  return absl::StrCat(marker, step.name, " ", step.result);
}

std::string MetadataKey(const Described& step) {
  return IsMarker(step.kind) ? absl::StrCat("marker ", step.kind == InstructionKind::kLoopBegin)
                             : absl::StrCat(step.op_name, " ", step.result);
}

void AppendShape(const hlo::Shape& shape, std::string& text) {
  absl::StrAppend(&text, hlo::ShapeToStringWithoutMemory(shape), ";");
}

// Priced steps by key. Steps with the same key are taken one after the other, in schedule order.
class StepPool {
 public:
  void Add(const std::string& key, int32_t priced) { steps_[key].steps.push_back(priced); }

  int32_t Take(const std::string& key) {
    const auto found = steps_.find(key);
    if (found == steps_.end() || found->second.next == found->second.steps.size()) return -1;
    return found->second.steps[found->second.next++];
  }

 private:
  struct Entry {
    std::vector<int32_t> steps;
    size_t next = 0;
  };
  absl::flat_hash_map<std::string, Entry> steps_;
};

class Matcher {
 public:
  Matcher(std::vector<Described> base, std::vector<Described> other)
      : base_(std::move(base)), other_(std::move(other)) {
    match_.other_of_base.assign(base_.size(), -1);
    match_.base_of_other.assign(other_.size(), -1);
  }

  Match Run() && {
    match_.report.set_matched_by_name(MatchBy(NameKey));
    match_.report.set_matched_by_metadata(MatchBy(MetadataKey));
    return std::move(match_);
  }

 private:
  uint32_t MatchBy(std::string (*key_of)(const Described&)) {
    StepPool pool;
    for (int32_t i = 0; i < other_.size(); ++i) {
      if (match_.base_of_other[i] < 0) pool.Add(key_of(other_[i]), i);
    }
    uint32_t matched = 0;
    for (int32_t i = 0; i < base_.size(); ++i) {
      if (match_.other_of_base[i] >= 0) continue;
      const int32_t found = pool.Take(key_of(base_[i]));
      if (found < 0) continue;
      match_.other_of_base[i] = found;
      match_.base_of_other[found] = i;
      ++matched;
    }
    return matched;
  }

  std::vector<Described> base_;
  std::vector<Described> other_;
  Match match_;
};

void CountUnmatched(const AnalyzedModule& other, Match& match) {
  v1::MatchReport& report = match.report;
  report.set_unmatched_in_all_hbm(
      std::count(match.other_of_base.begin(), match.other_of_base.end(), -1));
  report.set_unmatched_in_other(
      std::count(match.base_of_other.begin(), match.base_of_other.end(), -1));
  double cycles = 0;
  for (size_t i = 0; i < other.priced.size(); ++i) {
    const PricedStep& priced = other.priced[i];
    if (match.base_of_other[i] >= 0) continue;
    cycles += static_cast<double>(priced.instruction->estimated_cycles.value_or(0)) *
              static_cast<double>(priced.execution_count);
  }
  report.set_unmatched_in_other_cycles(cycles);
}

}  // namespace

std::string Signatures::Of(const PricedStep& priced) {
  std::string& signature = of_instruction_[priced.instruction];
  if (!signature.empty()) return signature;
  const Step& step = analyzed_.StepOf(priced);
  const hlo::Computation& computation = analyzed_.schedule.ComputationOf(step.instance);
  std::string text;
  for (hlo::InstructionIndex operand : priced.instruction->operands) {
    AppendShape(computation.instructions[operand].shape, text);
  }
  AppendInstruction(*priced.instruction, text);
  signature = Sha256(text);
  return signature;
}

void Signatures::AppendInstruction(const hlo::Instruction& instruction, std::string& text) {
  absl::StrAppend(&text, instruction.opcode_text, instruction.is_root ? "!" : " ",
                  instruction.parameter_number.value_or(-1), " ",
                  instruction.tuple_index.value_or(-1), " ", instruction.custom_call_target, " ");
  AppendShape(instruction.shape, text);
  for (const hlo::Attribute& attribute : instruction.attributes) {
    if (attribute.name == "channel_id") continue;  // every collective has its own
    absl::StrAppend(&text, attribute.name, "=", attribute.value, " ");
  }
  if (instruction.kernel_flops) absl::StrAppend(&text, "flops=", *instruction.kernel_flops, " ");
  for (const hlo::CalledComputation& called : instruction.called_computations) {
    absl::StrAppend(&text, "{", OfComputation(called.computation), "}");
  }
}

// Recursion ends, because the parser bounds how deep calls nest and lets no computation call
// itself.
const std::string& Signatures::OfComputation(hlo::ComputationIndex index) {
  std::string& signature = of_computation_[index];
  if (!signature.empty()) return signature;
  std::string text;
  for (const hlo::Instruction& instruction : analyzed_.module.computations[index].instructions) {
    for (hlo::InstructionIndex operand : instruction.operands) absl::StrAppend(&text, operand, ",");
    AppendInstruction(instruction, text);
  }
  signature = Sha256(text);
  return signature;
}

Match MatchModule(const v1::Program& program, const AnalyzedModule& other) {
  Match match = Matcher(Describe(program), Describe(other)).Run();
  match.report.set_name(BaseName(other.path));
  CountUnmatched(other, match);
  return match;
}

}  // namespace mallocmuzero
