// Fits what an instruction saves by having accesses in fast memory to the sets that were observed.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_LATENCY_SAVINGS_FIT_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_LATENCY_SAVINGS_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {

// The cycles saved by a set of accesses in fast memory. Bit k of the set is access k.
struct SeenSaving {
  uint64_t set = 0;
  double cycles = 0;
};

// Fitted savings of an instruction, in cycles.
struct Savings {
  std::vector<double> of_one;  // for each access

  // For each pair of accesses j < k, at PairIndex(j, k): the saving of the pair beyond the savings
  // of its members. Empty if all are 0.
  std::vector<double> of_pairs;
};

// Fits savings of accesses and of pairs to the observed savings `seen`, by ridge regression that
// draws towards `expected`, the expected saving of each access. The more bytes an access moves
// (`traffic`), the more it may differ from its expected saving, in proportion to the square root;
// otherwise a scalar could explain what a matrix saves. Sets in `seen` must be distinct, with at
// most 64 accesses.
Savings FitSavings(absl::Span<const SeenSaving> seen, absl::Span<const double> expected,
                   absl::Span<const double> traffic);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_LATENCY_SAVINGS_FIT_H_
