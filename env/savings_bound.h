// Cycles of a program without fast memory, and a bound on what fast memory can save.

#ifndef MALLOCMUZERO_ENV_SAVINGS_BOUND_H_
#define MALLOCMUZERO_ENV_SAVINGS_BOUND_H_

#include <vector>

#include "simulator/core/program.h"

namespace mallocmuzero {

// Cycles with everything in HBM, over all executions: entry i is the sum of all instructions before
// instruction i, and the last entry the sum of all instructions.
std::vector<double> ElapsedCycles(const Program& program);

// The most cycles that the accesses of each buffer can save: the sum of the most that each access
// saves. The other accesses of its instruction are in HBM, in fast memory, or where the baseline
// has them, whichever saves most.
std::vector<double> SavingsBounds(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SAVINGS_BOUND_H_
