// A bound on the cycles that fast memory can save, by which the rules tell negligible buffers.

#ifndef MALLOCMUZERO_ENV_SAVINGS_BOUND_H_
#define MALLOCMUZERO_ENV_SAVINGS_BOUND_H_

#include <vector>

#include "simulator/core/program.h"

namespace mallocmuzero {

// The most cycles that the accesses of each buffer can save: the sum of the most that each access
// saves. The other accesses of its instruction are in HBM, in fast memory, or where the baseline
// has them, whichever saves most.
IndexVector<BufferIndex, double> SavingsBounds(const Program& program);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SAVINGS_BOUND_H_
