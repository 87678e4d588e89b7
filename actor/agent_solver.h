// The agent as a solver: it proposes games, which local search goes on from.

#ifndef MALLOCMUZERO_ACTOR_AGENT_SOLVER_H_
#define MALLOCMUZERO_ACTOR_AGENT_SOLVER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "actor/agent.h"
#include "actor/search/search.h"
#include "env/program_set.h"
#include "env/solvers/solver.h"

namespace mallocmuzero {

// Proposes the best games that a network plays with search. `program` must outlive the solver and
// be the program of the facts that the solver is given.
class AgentSolver : public Solver {
 public:
  AgentSolver(const PlayedProgram& program, AgentNetwork network, const SearchConfig& search);

  absl::string_view name() const override { return solver_name::kAgent; }

  // Plays rounds of games up to the meter's deadline, or kGamesWithoutDeadline games if there is no
  // deadline. A round that takes longer than expected may overrun the deadline by half of the time
  // between the call and the deadline. After that its unfinished games are given up. Proposes
  // nothing if the program leaves nothing to decide or no game was finished. Errors are those of
  // PlayAgent.
  absl::StatusOr<std::vector<PlayedPlan>> Propose(const ProgramFacts& facts, uint64_t seed,
                                                  BudgetMeter& meter) const override;

 private:
  static constexpr uint64_t kGamesWithoutDeadline = 64;

  const PlayedProgram& program_;
  const AgentNetwork network_;
  const SearchConfig search_;
};

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ACTOR_AGENT_SOLVER_H_
