// What holding a value in fast memory from one access to the next is worth, and what else wants
// that memory meanwhile: a market of all such holds of a program.

#ifndef MALLOCMUZERO_ENV_HOLD_MARKET_H_
#define MALLOCMUZERO_ENV_HOLD_MARKET_H_

#include <vector>

#include "absl/types/span.h"
#include "env/program_rules.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// The hold of an access: its buffer's value stays in fast memory from the access before until it.
struct Hold {
  // False for the first access to a buffer, and for writes, which make a value of their own; then
  // the rest is 0.
  bool exists = false;

  // What the access saves for each byte and cycle of the hold, compared with what it would have to
  // if all the program's savings paid for all of the fast memory all of the time.
  double price = 0;

  // Fast memory that holds of a higher price take meanwhile, on average over the hold: a share of
  // all there is. Of those, only what leaves room for itself counts, highest price first.
  double load = 0;
};

// Cycles a byte and cycle of fast memory would have to save, if all that the accesses save, at
// least 0 each, paid for all of the memory for `cycles`: what prices are measured by.
double HoldPriceUnit(const Program& program, absl::Span<const double> savings, double cycles);

// By access, with `savings` as cycles of all executions that each saves in fast memory. In
// O(n log n).
std::vector<Hold> FindHolds(const ProgramRules& rules, absl::Span<const double> savings);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_HOLD_MARKET_H_
