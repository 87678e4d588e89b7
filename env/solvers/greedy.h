// Plays in program order, fast memory wherever it saves.

#ifndef MALLOCMUZERO_ENV_SOLVERS_GREEDY_H_
#define MALLOCMUZERO_ENV_SOLVERS_GREEDY_H_

#include <cstdint>
#include <vector>

#include "env/action.h"
#include "env/game.h"
#include "env/program_rules.h"

namespace mallocmuzero {

// Thread-compatible; `rules` must outlive it.
class GreedyPlayer {
 public:
  explicit GreedyPlayer(const ProgramRules& rules);

  // NoCopy if it is legal and saves, else Copy if it is legal and saves, else Drop. A read saves
  // what its instruction takes less with it in fast memory, given what of the instruction is there
  // already; a write or an update saves this and what the value's later reads would save.
  Action Choose(const Game& game) const;

 private:
  const ProgramRules& rules_;
  std::vector<double> later_savings_;  // by access, of the same value's accesses after it, cycles
};

// A finished game.
Game PlayGreedy(const ProgramRules& rules);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_GREEDY_H_
