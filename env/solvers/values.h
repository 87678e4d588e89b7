// The values a program makes, as solvers look at them: who uses one, and what fast memory saves.

#ifndef MALLOCMUZERO_ENV_SOLVERS_VALUES_H_
#define MALLOCMUZERO_ENV_SOLVERS_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "env/program_rules.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// A value of a buffer from the access that makes it to its last use: a write and all that follows
// up to the next one. Updates change it in place. A buffer's first value may begin with a read.
struct Value {
  uint32_t buffer = 0;
  absl::Span<const uint32_t> accesses;  // into Program::accesses, ascending; never empty
};

// All values, by buffer and time. They point into `program`.
std::vector<Value> FindValues(const Program& program);

// By access, what fast memory saves if nothing else of its instruction is there, cycles of all
// executions. May be negative.
std::vector<double> FindSavings(const Program& program);

// The fewest cycles that one execution can take in a game. A lower bound, 0, if more than 12 of its
// accesses may be in fast memory.
double FewestCycles(const ProgramRules& rules, uint32_t instruction);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_VALUES_H_
