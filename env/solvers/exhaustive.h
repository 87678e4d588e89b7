// All games of a tiny program.

#ifndef MALLOCMUZERO_ENV_SOLVERS_EXHAUSTIVE_H_
#define MALLOCMUZERO_ENV_SOLVERS_EXHAUSTIVE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "env/action.h"
#include "env/program_rules.h"
#include "env/solvers/search_budget.h"

namespace mallocmuzero {

// Accesses that may be decided; at three actions each, a few seconds.
inline constexpr uint32_t kMaxExhaustiveAccesses = 16;

// The actions of a game of fewest cycles: the optimum, unless the budget was spent before; then the
// best game so far. Depth first; a game is given up once it could not get below the best one even
// if all instructions to come took the fewest cycles they can. InvalidArgument if more than
// kMaxExhaustiveAccesses accesses may be decided.
absl::StatusOr<std::vector<Action>> SearchExhaustively(const ProgramRules& rules,
                                                       SearchBudget& budget);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_EXHAUSTIVE_H_
