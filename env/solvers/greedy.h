// Plays in program order, and uses fast memory wherever it saves cycles.

#ifndef MALLOCMUZERO_ENV_SOLVERS_GREEDY_H_
#define MALLOCMUZERO_ENV_SOLVERS_GREEDY_H_

#include <cstdint>
#include <vector>

#include "env/action.h"
#include "env/game.h"
#include "env/solvers/program_facts.h"
#include "env/solvers/solver.h"

namespace mallocmuzero {

// Thread-compatible; `facts` must outlive it.
class GreedyPlayer {
 public:
  explicit GreedyPlayer(const ProgramFacts& facts);

  // NoCopy if it is legal and saves, else Copy if it is legal and saves, else Drop. A read saves
  // the cycles that its instruction takes less with it in fast memory, given the instruction's
  // accesses that are there already. A write or an update saves this and the savings of the value's
  // later reads.
  Action Choose(const Game& game) const;

 private:
  const ProgramFacts& facts_;
  // For each access, the cycles that later accesses of the same value save.
  IndexVector<AccessIndex, double> later_savings_;
};

// A finished game.
Game PlayGreedy(const ProgramFacts& facts);

// Proposes the greedy player's game, or nothing if the meter is spent before the game ends.
class GreedySolver : public Solver {
 public:
  absl::string_view name() const override { return solver_name::kGreedy; }
  absl::StatusOr<std::vector<PlayedPlan>> Propose(const ProgramFacts& facts, uint64_t seed,
                                                  BudgetMeter& meter) const override;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_GREEDY_H_
