#include "env/solvers/fewest_cycles.h"

#include <algorithm>

namespace mallocmuzero {

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
