// The fewest cycles that one execution of an instruction can take.

#ifndef MALLOCMUZERO_ENV_SOLVERS_FEWEST_CYCLES_H_
#define MALLOCMUZERO_ENV_SOLVERS_FEWEST_CYCLES_H_

#include <cstdint>

#include "env/program_rules.h"

namespace mallocmuzero {

// The fewest cycles that the instruction takes in any game. A lower bound, 0, if more than 12 of
// its accesses may be in fast memory.
double FewestCycles(const ProgramRules& rules, uint32_t instruction);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_FEWEST_CYCLES_H_
