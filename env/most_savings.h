// The most that fast memory could save, by which the rules tell negligible buffers.

#ifndef MALLOCMUZERO_ENV_MOST_SAVINGS_H_
#define MALLOCMUZERO_ENV_MOST_SAVINGS_H_

#include <vector>

#include "simulator/core/program.h"

namespace mallocmuzero {

// By buffer, the most its accesses could save together, cycles: the sum of the most that each saves
// while the others of its instruction are in HBM, in fast memory, or where the default has them.
std::vector<double> MostSavings(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_MOST_SAVINGS_H_
