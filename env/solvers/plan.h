// What a player intends to do with every access, whether or not the game will ask or allow it.

#ifndef MALLOCMUZERO_ENV_SOLVERS_PLAN_H_
#define MALLOCMUZERO_ENV_SOLVERS_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "env/action.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// One action an access of the program. Which accesses are decisions differs from game to game, and
// so does what is legal; a plan means something for all of them.
using Plan = std::vector<Action>;

// The intended action if it is legal, else the one closest to it: fast memory before HBM if fast
// memory was intended, and if HBM was, the fast one that leaves the value in HBM as well. `legal`
// must not be empty.
Action Choose(Action intended, ActionSet legal);

// Plays the plan from the game's current decision to its end.
void PlayPlan(const Plan& plan, Game& game);

// The game that these actions play. Each must be legal, and the last one end it.
Game PlayActions(const ProgramRules& rules, absl::Span<const Action> actions);

// A plan that plays `game` again: its actions where it decided, what the rules did where they did.
// The game must be finished.
Plan PlanOf(const Game& game);

// A plan that imitates a placement, such as the compiler's: one flag an access, nonzero for fast
// memory. A value goes to fast memory only if all its reads are there, else to HBM as well.
Plan FollowPlan(const Program& program, absl::Span<const uint8_t> in_fast_memory);

// The same, and a value is copied when the mapping copies it, also where it could stay.
Plan FollowPlan(const Program& program, const Mapping& mapping);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_PLAN_H_
