// The fewest cycles that one execution of an instruction can take.

#ifndef MALLOCMUZERO_ENV_SOLVERS_FEWEST_CYCLES_H_
#define MALLOCMUZERO_ENV_SOLVERS_FEWEST_CYCLES_H_

#include <cstdint>

#include "env/program_rules.h"

namespace mallocmuzero {

// Sets of so many accesses are enumerated: the instruction's fewest cycles are exact if no more of
// its accesses may be in fast memory.
inline constexpr int kMostEnumeratedAccesses = 12;

// A lower bound of the cycles that the instruction takes in any game. 0 if it is not exact.
double FewestCycles(const ProgramRules& rules, InstructionIndex instruction);

// Cycles that the instruction takes with some set of accesses in fast memory, the fewest that are
// easy to find. If they are not exact, they are the fewest of two descents that move one access at
// a time: one begins with all accesses in HBM, the other with all in fast memory.
double FewestCyclesFound(const ProgramRules& rules, InstructionIndex instruction);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_FEWEST_CYCLES_H_
