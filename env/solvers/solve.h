// Searches by name: what a search may spend, and the mapping it finds.

#ifndef MALLOCMUZERO_ENV_SOLVERS_SOLVE_H_
#define MALLOCMUZERO_ENV_SOLVERS_SOLVE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/steady_clock.h"
#include "env/action.h"
#include "env/program_rules.h"
#include "env/solvers/plan.h"
#include "simulator/core/mapping.h"

namespace mallocmuzero {

class Solver;

// SolverNames explains them.
namespace solver_name {
inline constexpr absl::string_view kAllHbm = "all_hbm";
inline constexpr absl::string_view kDefault = "default";
inline constexpr absl::string_view kGreedy = "greedy";
inline constexpr absl::string_view kXlaLike = "xla_like";
inline constexpr absl::string_view kLocalSearch = "local_search";
inline constexpr absl::string_view kAgent = "agent";
inline constexpr absl::string_view kExhaustive = "exhaustive";
inline constexpr absl::string_view kPortfolio = "portfolio";
}  // namespace solver_name

// The state of a running search.
struct SolveProgress {
  double best_cycles = 0;
  uint64_t games = 0;
};

struct SolveOptions {
  // The search ends at the first of these three limits and returns the best mapping found up to
  // then; there always is one. Without any limit, local_search, agent and portfolio do not end.
  absl::Time deadline = absl::InfiniteFuture();
  uint64_t max_games = std::numeric_limits<uint64_t>::max();
  // True ends the search, as after Ctrl-C. Called about once a millisecond, or after every game if
  // games take longer, and not again once it has returned true.
  std::function<bool()> stop;

  // The clock of `deadline`. A benchmark may count processor time instead. The agent's games know
  // SteadyNow only.
  absl::Time (*clock)() = SteadyNow;

  // Threads of local_search. `stop`, `progress` and `improved` are called on any of them,
  // one call at a time.
  uint32_t threads = 1;

  // Searches on one thread that `deadline` and `stop` do not cut short give the same answer for the
  // same seed.
  uint64_t seed = 0;

  // The player with networks that "agent" needs and "portfolio" uses; null: none. Must outlive the
  // search.
  const Solver* agent = nullptr;

  // Called when something better was found, at most once a millisecond or so. Called also every 50
  // milliseconds, with the games so far, and once at the end.
  std::function<void(const SolveProgress&)> progress;

  // Called with a plan that is better than that of the call before, and with the cycles of its
  // game. The calls take at most a twentieth of one thread's time. Empty: plans are not kept.
  std::function<void(const Plan& plan, double cycles)> improved;
};

// A mapping and its price.
struct Solution {
  Mapping mapping;

  // Simulate(program, mapping).total_cycles. The default that a portfolio keeps is the exception:
  // it has the price of the module as compiled, because keeping the default means keeping that
  // module.
  double cycles = 0;

  // The game that gives the mapping, one action a decision. Empty for all_hbm and default: there
  // may be no game that gives them.
  std::vector<Action> actions;

  std::string solver;        // that found the mapping; of a portfolio, its best member
  uint64_t games = 0;        // played in the search, also in part
  uint64_t simulations = 0;  // steps of the network in the agent's searches
  bool interrupted = false;  // `stop` ended the search
};

// "all_hbm"       everything in HBM.
// "default"       the compiler's own mapping, Program's baseline. Its addresses may be missing
//                 (Baseline.packed); then it has a price but is not valid.
// "greedy"        program order, fast memory wherever it saves.
// "xla_like"      the published heuristic of XLA's memory space assignment; see xla_like.h.
// "local_search"  hill climbing from the plans of starting_plans.h; see local_search.h.
// "agent"         the same, and the games of SolveOptions::agent are among the starting plans.
// "exhaustive"    the best of all games, for tiny programs.
// "portfolio"     the best of all but exhaustive; see portfolio.h.
absl::Span<const absl::string_view> SolverNames();

// InvalidArgument for an unknown name, for "agent" without SolveOptions::agent, and for a program
// that is too large for "exhaustive"; NotFound for "default" if the program has no baseline; or an
// error of the agent.
absl::StatusOr<Solution> Solve(absl::string_view name, const ProgramRules& rules,
                               const SolveOptions& options);

}  // namespace mallocmuzero

#endif  // MALLOCMUZERO_ENV_SOLVERS_SOLVE_H_
