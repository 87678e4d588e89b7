// Helpers of several tests of games.

#ifndef MALLOCMUZERO_ENV_TESTING_GAMES_H_
#define MALLOCMUZERO_ENV_TESTING_GAMES_H_

#include <initializer_list>
#include <vector>

#include "env/action.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "simulator/core/program.h"

namespace mallocmuzero::testing {

// The rules under which every access matters, whatever it saves. The hardware must have fast
// memory.
inline ProgramRules EverythingMatters(const Program& program) {
  return ProgramRules::Create(program, {.negligible_share = -1});
}

// The set of some actions.
inline ActionSet Set(std::initializer_list<Action> actions) {
  ActionSet set = 0;
  for (const Action action : actions) set |= SetOf(action);
  return set;
}

// The stays of a buffer, by their first instruction. The game must be finished.
inline std::vector<Interval> StaysOf(const Game& game, BufferIndex buffer) {
  std::vector<Interval> stays;
  for (const Interval& interval : game.ToMapping().intervals) {
    if (interval.buffer == buffer) stays.push_back(interval);
  }
  return stays;
}

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_ENV_TESTING_GAMES_H_
