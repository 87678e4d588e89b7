// Players of mallocGame that need no learning: opponents of the agent, and its teachers.

#ifndef MALLOCMUZERO_ENV_SOLVERS_SOLVER_H_
#define MALLOCMUZERO_ENV_SOLVERS_SOLVER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/program_rules.h"
#include "simulator/core/mapping.h"

namespace mallocmuzero {

// What a search has found so far.
struct SolveProgress {
  double best_cycles = 0;
  uint64_t games = 0;
};

// A game that someone else played, to start from.
struct Proposal {
  std::string player;  // "agent"
  std::vector<Action> actions;
};

struct SolveOptions {
  // The search ends at the first of these; whatever has been found by then is the answer, and there
  // always is one. Without any, local_search and portfolio do not end.
  absl::Time deadline = absl::InfiniteFuture();
  uint64_t max_games = std::numeric_limits<uint64_t>::max();
  std::function<bool()> stop;  // asked after every game: true to end, as after Ctrl-C

  // On which local_search climbs. The functions here are called on any of them, one at a time.
  uint32_t threads = 1;

  // Searches on one thread that `deadline` and `stop` do not cut short give the same answer for the
  // same seed.
  uint64_t seed = 0;

  // What local_search and portfolio start from beside their own, legal games all. A portfolio's
  // answer may be one of them, with its player as the solver.
  std::vector<Proposal> proposals;

  // Called now and then, whenever something better is found at least.
  std::function<void(const SolveProgress&)> progress;
};

// A valid mapping and its price.
struct Solution {
  Mapping mapping;
  double cycles = 0;  // Simulate(program, mapping).total_cycles

  // The game that gives the mapping, one a decision. Empty for all_hbm and default, which no game
  // need be able to give.
  std::vector<Action> actions;

  std::string solver;        // that found it; of a portfolio, the one that won
  uint64_t games = 0;        // played in the search, also in part
  bool interrupted = false;  // `stop` ended the search
};

// "all_hbm"       everything in HBM.
// "default"       the compiler's own mapping, Program's baseline. Its addresses may be missing
//                 (Baseline.packed); then it has a price but is not valid.
// "greedy"        program order, fast memory wherever it saves.
// "xla_like"      the published heuristic of XLA's memory space assignment; see xla_like.h.
// "local_search"  hill climbing from all of the above that can be played; see local_search.h.
// "exhaustive"    the best of all games, for tiny programs.
// "portfolio"     the best of all but exhaustive, in the order above.
absl::Span<const absl::string_view> SolverNames();

// InvalidArgument for an unknown name and for a program that is too large for "exhaustive",
// NotFound for "default" if the program has no baseline. A portfolio's answer is never worse than
// the compiler's own mapping, and Validate has accepted it unless it is that mapping.
absl::StatusOr<Solution> Solve(absl::string_view name, const ProgramRules& rules,
                               const SolveOptions& options);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_SOLVER_H_
