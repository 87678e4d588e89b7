// The order of LatencyClass.pair_savings_cycles.

#ifndef MALLOCMUZERO_SIMULATOR_CORE_PAIR_INDEX_H_
#define MALLOCMUZERO_SIMULATOR_CORE_PAIR_INDEX_H_

#include <cstddef>

namespace mallocmuzero {

// Where the pair of accesses j < k is in a list of all of them. PairIndex(0, n) is also how many
// pairs n accesses have.
inline size_t PairIndex(size_t j, size_t k) { return k * (k - 1) / 2 + j; }

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_CORE_PAIR_INDEX_H_
