#include "env/solvers/values.h"

#include <algorithm>

namespace mallocmuzero {

std::vector<Value> FindValues(const Program& program) {
  std::vector<Value> values;
  for (uint32_t b = 0; b < program.buffer_count(); ++b) {
    const absl::Span<const uint32_t> accesses = program.AccessesOfBuffer(b);
    size_t first = 0;
    for (size_t k = 1; k <= accesses.size(); ++k) {
      if (k < accesses.size() && program.accesses()[accesses[k]].kind != AccessKind::kWrite) {
        continue;
      }
      values.push_back({.buffer = b, .accesses = accesses.subspan(first, k - first)});
      first = k;
    }
  }
  return values;
}

std::vector<double> FindSavings(const Program& program) {
  std::vector<double> savings;
  savings.reserve(program.access_count());
  for (uint32_t i = 0; i < program.instruction_count(); ++i) {
    const Instruction& instruction = program.instructions()[i];
    const double in_hbm = program.latency().Cycles(i, 0);
    for (uint32_t k = 0; k < instruction.access_count; ++k) {
      const double fast = program.latency().Cycles(i, uint64_t{1} << k);
      savings.push_back((in_hbm - fast) * instruction.execution_count);
    }
  }
  return savings;
}

double FewestCycles(const ProgramRules& rules, uint32_t instruction) {
  constexpr int kMaxEnumerated = 12;
  const Program& program = rules.program();
  const Instruction& i = program.instructions()[instruction];
  uint64_t movable = 0;
  for (uint32_t k = 0; k < i.access_count; ++k) {
    const uint32_t a = i.first_access + k;
    const bool may_be_fast =
        rules.UsesPrefetch(a) || !rules.buffer(program.accesses()[a].buffer).stays_in_hbm;
    if (may_be_fast) movable |= uint64_t{1} << k;
  }
  if (__builtin_popcountll(movable) > kMaxEnumerated) return 0;
  double fewest = program.latency().Cycles(instruction, 0);
  for (uint64_t mask = movable; mask != 0; mask = (mask - 1) & movable) {
    fewest = std::min(fewest, program.latency().Cycles(instruction, mask));
  }
  return fewest;
}

}  // namespace mallocmuzero
