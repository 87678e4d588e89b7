// What an instruction saves by having accesses in fast memory, from the sets that were seen.

#ifndef MALLOCMUZERO_SIMULATOR_IMPORT_SAVINGS_FIT_H_
#define MALLOCMUZERO_SIMULATOR_IMPORT_SAVINGS_FIT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace mallocmuzero {

// Cycles that a set of accesses (bit k: access k) in fast memory saves.
struct SeenSaving {
  uint64_t set = 0;
  double cycles = 0;
};

struct Savings {
  std::vector<double> of_one;  // by access

  // Of two accesses j < k beyond what each saves, at PairIndex(j, k); empty: none.
  std::vector<double> of_pairs;
};

// Ridge regression of what was seen on accesses and pairs of accesses, drawn towards `expected`,
// by access. How much one may differ from that grows with the square root of `traffic`, what it
// moves: without, a scalar would explain what a matrix does. Sets are distinct, accesses 64 at
// most.
Savings FitSavings(absl::Span<const SeenSaving> seen, absl::Span<const double> expected,
                   absl::Span<const double> traffic);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_SIMULATOR_IMPORT_SAVINGS_FIT_H_
