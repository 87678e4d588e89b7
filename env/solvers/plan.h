// The intention of a player for every access, whether or not the game will ask for or allow it.

#ifndef MALLOCMUZERO_ENV_SOLVERS_PLAN_H_
#define MALLOCMUZERO_ENV_SOLVERS_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "simulator/core/mapping.h"
#include "simulator/core/program.h"

namespace mallocmuzero {

// One action for each access of the program. Games of one program differ in which accesses are
// decisions and in which actions are legal; a plan can be played in all of them, because Choose
// (action.h) takes the closest legal action.
using Plan = IndexVector<AccessIndex, Action>;

// Plays on by the actions of `choose`. Returns false, with the game unfinished, if `give_up`
// returns true before one of the decisions.
template <typename Chooser, typename GiveUp>
bool PlayUnless(const GiveUp& give_up, const Chooser& choose, Game& game) {
  while (!game.finished()) {
    if (give_up()) return false;
    game.Apply(choose(game));
  }
  return true;
}

// The same without a reason to give up.
template <typename Chooser>
void PlayOn(const Chooser& choose, Game& game) {
  PlayUnless([] { return false; }, choose, game);
}

// Plays the plan from the game's current decision to its end.
void PlayPlan(const Plan& plan, Game& game);

// A plan and the cycles of the game that it plays.
struct PlayedPlan {
  Plan plan;
  double cycles = 0;
};

PlayedPlan Played(const ProgramRules& rules, Plan plan);

// The same, or nullopt if `give_up` returns true before one of the accesses.
std::optional<PlayedPlan> PlayedUnless(const ProgramRules& rules, Plan plan,
                                       absl::FunctionRef<bool()> give_up);

// The plan of fewest cycles, the first of several such. There must be one.
const PlayedPlan& BestOf(absl::Span<const PlayedPlan> plans);

// The game that these actions play. Each must be legal, and the last one must end the game.
Game PlayActions(const ProgramRules& rules, absl::Span<const Action> actions);

// A plan that plays `game` again: the game's action for each decision, and the memory that the
// rules chose for each other access. The game must be finished.
Plan PlanOf(const Game& game);

// The same. `decided` are the accesses that were decisions, in the order of the game's history.
// Without it PlanOf plays the game once more to find them.
Plan PlanOf(const Game& game, absl::Span<const AccessIndex> decided);

// A plan that imitates a placement, such as the compiler's: one flag for each access, nonzero for
// fast memory. A value that is written to fast memory goes to HBM as well unless all its later
// accesses are in fast memory.
Plan FollowPlan(const Program& program, IndexSpan<AccessIndex, const uint8_t> in_fast_memory);

// The same for a mapping. The plan copies a value where the mapping copies it, even if the value
// could stay in fast memory.
Plan FollowPlan(const Program& program, const Mapping& mapping);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_PLAN_H_
