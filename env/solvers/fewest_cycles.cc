#include "env/solvers/fewest_cycles.h"

#include <algorithm>

namespace mallocmuzero {
namespace {

// The accesses of an instruction that may be in fast memory in some game, one bit each.
uint64_t MovableAccesses(const ProgramRules& rules, InstructionIndex instruction) {
  const Program& program = rules.program();
  const Instruction& i = program.instructions()[instruction];
  uint64_t movable = 0;
  for (uint32_t k = 0; k < i.access_count; ++k) {
    const AccessIndex a = i.first_access + k;
    const bool may_be_fast =
        rules.UsesPrefetch(a) || !rules.buffer(program.accesses()[a].buffer).stays_in_hbm;
    if (may_be_fast) movable |= uint64_t{1} << k;
  }
  return movable;
}

bool IsEnumerated(uint64_t movable) {
  return __builtin_popcountll(movable) <= kMostEnumeratedAccesses;
}

double FewestOfAllSets(const LatencyTable& latency, InstructionIndex instruction,
                       uint64_t movable) {
  double fewest = latency.Cycles(instruction, 0);
  for (uint64_t mask = movable; mask != 0; mask = (mask - 1) & movable) {
    fewest = std::min(fewest, latency.Cycles(instruction, mask));
  }
  return fewest;
}

// Moves the access that saves most until none saves anything.
double Descend(const LatencyTable& latency, InstructionIndex instruction, uint64_t movable,
               uint64_t mask) {
  double cycles = latency.Cycles(instruction, mask);
  for (;;) {
    uint64_t best_bit = 0;
    for (uint64_t rest = movable; rest != 0; rest &= rest - 1) {
      const uint64_t bit = rest & (~rest + 1);
      const double moved = latency.Cycles(instruction, mask ^ bit);
      if (moved >= cycles) continue;
      cycles = moved;
      best_bit = bit;
    }
    if (best_bit == 0) return cycles;
    mask ^= best_bit;
  }
}

}  // namespace

double FewestCycles(const ProgramRules& rules, InstructionIndex instruction) {
  const uint64_t movable = MovableAccesses(rules, instruction);
  if (!IsEnumerated(movable)) return 0;
  return FewestOfAllSets(rules.program().latency(), instruction, movable);
}

double FewestCyclesFound(const ProgramRules& rules, InstructionIndex instruction) {
  const LatencyTable& latency = rules.program().latency();
  const uint64_t movable = MovableAccesses(rules, instruction);
  if (IsEnumerated(movable)) return FewestOfAllSets(latency, instruction, movable);
  return std::min(Descend(latency, instruction, movable, 0),
                  Descend(latency, instruction, movable, movable));
}

}  // namespace mallocmuzero
