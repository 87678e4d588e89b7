// The order of LatencyClass.pair_savings_cycles.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_PAIR_INDEX_H_
#define MALLOCMUZERO_SIMULATOR_CORE_PAIR_INDEX_H_

#include <cstddef>

namespace mallocmuzero {

// Position of the pair of accesses j < k in a list of all pairs. PairIndex(0, n) is also the number
// of pairs of n accesses.
inline size_t PairIndex(size_t j, size_t k) { return k * (k - 1) / 2 + j; }

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_PAIR_INDEX_H_
