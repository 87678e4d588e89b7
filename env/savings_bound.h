// What a program costs without fast memory, and what fast memory could save at most: how the rules
// tell what is negligible.

#ifndef MALLOCMUZERO_ENV_MOST_SAVINGS_H_
#define MALLOCMUZERO_ENV_MOST_SAVINGS_H_

#include <vector>

#include "simulator/core/program.h"

namespace mallocmuzero {

// Cycles of all executions before each instruction with everything in HBM, and of all of them.
std::vector<double> CyclesBefore(const Program& program);

// By buffer, the most its accesses could save together, cycles: the sum of the most that each saves
// while the others of its instruction are in HBM, in fast memory, or where the baseline has them.
std::vector<double> MostSavings(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_MOST_SAVINGS_H_
