#include "env/solvers/portfolio.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "env/solvers/greedy.h"
#include "env/solvers/local_search.h"
#include "env/solvers/relaxed_plans.h"
#include "env/solvers/rent_plans.h"
#include "env/solvers/solution.h"
#include "env/solvers/xla_like.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

// Shares of the time that is left when a proposer begins. They bind in programs whose games take
// long; local search has the rest. The agent uses its share up.
constexpr double kOneGameShare = 0.1;
constexpr double kRelaxedShare = 0.1;
constexpr double kRentShare = 0.2;
constexpr double kAgentShare = 0.12;
constexpr double kAgentShareInPortfolio = 0.1;

// A played plan with the name of the solver that found it.
struct Candidate {
  const PlayedPlan* plan;
  absl::string_view solver;
};

// The plans that local search began with, and the plan that it found.
struct Searched {
  StartingPlans starts;
  PlayedPlan found;
};

absl::StatusOr<Searched> RunSearch(const ProgramFacts& facts, double agent_share, uint64_t seed,
                                   SearchBudget& budget) {
  absl::StatusOr<StartingPlans> starts = UsualStartingPlans(facts, agent_share, seed, budget);
  if (!starts.ok()) return starts.status();
  absl::StatusOr<PlayedPlan> found =
      LocalSearchSolver().Improve(facts, starts->plans, seed, budget);
  if (!found.ok()) return found.status();
  return Searched{*std::move(starts), *std::move(found)};
}

absl::StatusOr<Solution> SolveWithAgentShare(const ProgramFacts& facts, double agent_share,
                                             absl::string_view name, uint64_t seed,
                                             SearchBudget& budget) {
  const absl::StatusOr<Searched> search = RunSearch(facts, agent_share, seed, budget);
  if (!search.ok()) return search.status();
  return SolutionOf(facts.rules(), search->found.plan, name);
}

// The valid mapping of fewest cycles, the first of several such.
std::optional<Solution> BestValid(const ProgramFacts& facts, std::vector<Candidate> candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.plan->cycles < b.plan->cycles; });
  for (const Candidate& candidate : candidates) {
    Solution solution = SolutionOf(facts.rules(), candidate.plan->plan, candidate.solver);
    if (Validate(facts.program(), solution.mapping).empty()) return solution;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<StartingPlans> UsualStartingPlans(const ProgramFacts& facts, double agent_share,
                                                 uint64_t seed, SearchBudget& budget) {
  static const GreedySolver greedy;
  static const XlaLikeSolver xla_like;
  static const FollowDefaultSolver follow_default;
  static const RelaxedSolver relaxed;
  static const RentSolver rent;
  std::vector<Proposer> proposers = {
      {&greedy, kOneGameShare}, {&xla_like, kOneGameShare}, {&follow_default, kOneGameShare}};
  const Solver* agent = budget.options().agent;
  if (agent != nullptr && agent_share > 0) proposers.push_back({agent, agent_share});
  proposers.push_back({&rent, kRentShare});
  if (facts.is_long()) proposers.push_back({&relaxed, kRelaxedShare});
  return MakeStartingPlans(facts, proposers, seed, budget);
}

absl::StatusOr<Solution> SolveByLocalSearch(const ProgramFacts& facts, uint64_t seed,
                                            SearchBudget& budget) {
  return SolveWithAgentShare(facts, 0, solver_name::kLocalSearch, seed, budget);
}

absl::StatusOr<Solution> SolveByAgent(const ProgramFacts& facts, uint64_t seed,
                                      SearchBudget& budget) {
  if (budget.options().agent == nullptr) {
    return absl::InvalidArgumentError("the solver agent needs a network to play");
  }
  return SolveWithAgentShare(facts, kAgentShare, solver_name::kAgent, seed, budget);
}

absl::StatusOr<Solution> RunPortfolio(const ProgramFacts& facts, uint64_t seed,
                                      SearchBudget& budget) {
  const absl::StatusOr<Searched> search = RunSearch(facts, kAgentShareInPortfolio, seed, budget);
  if (!search.ok()) return search.status();

  // Of equally good answers the first one counts, so that the simpler solver goes before the longer
  // search, everything in HBM before a game, and the default before all.
  std::vector<Candidate> candidates;
  for (size_t k = 0; k < search->starts.plans.size(); ++k) {
    const absl::string_view solver = search->starts.solvers[k];
    const bool has_answers = solver == solver_name::kGreedy || solver == solver_name::kXlaLike ||
                             solver == solver_name::kAgent;
    if (has_answers) candidates.push_back({&search->starts.plans[k], solver});
  }
  candidates.push_back({&search->found, solver_name::kLocalSearch});
  Solution best = AllHbmSolution(facts.rules());
  std::optional<Solution> played = BestValid(facts, std::move(candidates));
  if (played && played->cycles < best.cycles) best = *std::move(played);
  const Baseline* baseline = facts.program().baseline();
  if (baseline == nullptr || best.cycles < baseline->compiled_cycles) return best;
  absl::StatusOr<Solution> kept = DefaultSolution(facts.rules());
  if (kept.ok()) kept->cycles = baseline->compiled_cycles;
  return kept;
}

}  // namespace mallocmuzero
