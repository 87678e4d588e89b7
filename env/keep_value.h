// The worth of keeping a value in fast memory from one access to the next, and the share of the
// memory that more valuable ones occupy meanwhile.

#ifndef MALLOCMUZERO_ENV_KEEP_VALUE_H_
#define MALLOCMUZERO_ENV_KEEP_VALUE_H_

#include <vector>

#include "absl/types/span.h"
#include "env/program_rules.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// For an access: its buffer's value stays in fast memory from the buffer's previous access on.
struct KeepValue {
  // False for the first access to a buffer and for writes, which keep no earlier value. All other
  // fields are then 0.
  bool exists = false;

  // Cycles that the access saves for each byte and cycle for which the value is kept, in units of
  // SavingsDensityUnit.
  double savings_density = 0;

  // Share of the fast memory that values of a higher density occupy meanwhile, on average. Values
  // are admitted by falling density, and one that finds no room occupies nothing.
  double occupied = 0;
};

// By access. `savings` are the cycles that each access saves in fast memory, over all executions.
// In O(n log n).
IndexVector<AccessIndex, KeepValue> FindKeepValues(const ProgramRules& rules,
                                                   IndexSpan<AccessIndex, const double> savings);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_KEEP_VALUE_H_
