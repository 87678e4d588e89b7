#include "simulator/import/matching/match.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/sha256.h"

namespace mallocmuzero {
namespace {

// Appends the shape with every memory space set to HBM.
void AppendShape(const hlo::Shape& shape, std::string& text) {
  if (shape.IsTuple()) {
    text.push_back('(');
    for (const hlo::Shape& element : shape.tuple_shapes) AppendShape(element, text);
    text.push_back(')');
    return;
  }
  hlo::Shape plain = shape;
  plain.layout.memory_space = 0;
  absl::StrAppend(&text, hlo::ShapeToString(plain), ";");
}

// Opcode and shape of the result. Two instructions of the same name match only if these are equal.
std::string ResultKey(const PricedStep& priced) {
  std::string key = absl::StrCat(priced.instruction->opcode_text, " ");
  AppendShape(priced.instruction->shape, key);
  return key;
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
  Matcher(const AnalyzedModule& base, const AnalyzedModule& other) : base_(base), other_(other) {
    match_.other_of_base.assign(base.priced.size(), -1);
    match_.base_of_other.assign(other.priced.size(), -1);
    match_.report.set_name(BaseName(other.path));
  }

  Match Run() && {
    match_.report.set_matched_by_name(MatchBy([](const AnalyzedModule& m, const PricedStep& p) {
      return absl::StrCat(
          IsMarker(m.KindOf(p)) ? (m.StepOf(p).kind == Step::Kind::kLoopBegin ? "<" : ">") : "",
          p.instruction->name, " ", ResultKey(p));
    }));
    match_.report.set_matched_by_metadata(MatchBy([](const AnalyzedModule& m, const PricedStep& p) {
      return IsMarker(m.KindOf(p))
                 ? absl::StrCat("marker ", m.StepOf(p).kind == Step::Kind::kLoopBegin)
                 : absl::StrCat(p.instruction->op_name, " ", ResultKey(p));
    }));
    CountUnmatched();
    return std::move(match_);
  }

 private:
  template <typename KeyOf>
  uint32_t MatchBy(KeyOf key_of) {
    StepPool pool;
    for (int32_t i = 0; i < other_.priced.size(); ++i) {
      if (match_.base_of_other[i] < 0) pool.Add(key_of(other_, other_.priced[i]), i);
    }
    uint32_t matched = 0;
    for (int32_t i = 0; i < base_.priced.size(); ++i) {
      if (match_.other_of_base[i] >= 0) continue;
      const int32_t found = pool.Take(key_of(base_, base_.priced[i]));
      if (found < 0) continue;
      match_.other_of_base[i] = found;
      match_.base_of_other[found] = i;
      ++matched;
    }
    return matched;
  }

  static double Cycles(const PricedStep& priced) {
    return static_cast<double>(priced.instruction->estimated_cycles.value_or(0)) *
           static_cast<double>(priced.execution_count);
  }

  void CountUnmatched() {
    v1::MatchReport& report = match_.report;
    for (size_t i = 0; i < base_.priced.size(); ++i) {
      if (match_.other_of_base[i] >= 0) continue;
      report.set_unmatched_in_all_hbm(report.unmatched_in_all_hbm() + 1);
      report.set_unmatched_in_all_hbm_cycles(report.unmatched_in_all_hbm_cycles() +
                                             Cycles(base_.priced[i]));
    }
    for (size_t i = 0; i < other_.priced.size(); ++i) {
      if (match_.base_of_other[i] >= 0) continue;
      report.set_unmatched_in_other(report.unmatched_in_other() + 1);
      report.set_unmatched_in_other_cycles(report.unmatched_in_other_cycles() +
                                           Cycles(other_.priced[i]));
    }
  }

  const AnalyzedModule& base_;
  const AnalyzedModule& other_;
  Match match_;
};

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
    absl::StrAppend(&text, attribute.name, "=", attribute.value, " ");
  }
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

Match MatchModules(const AnalyzedModule& all_hbm, const AnalyzedModule& other) {
  return Matcher(all_hbm, other).Run();
}

}  // namespace mallocmuzero
