#include "actor/agent_solver.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "actor/agent.h"
#include "base/steady_clock.h"

namespace mallocmuzero {
namespace {

// Share of the agent's time by which its last round may overrun the deadline.
constexpr double kOverrun = 0.5;

}  // namespace

AgentSolver::AgentSolver(const PlayedProgram& program, AgentNetwork network,
                         const SearchConfig& search)
    : program_(program), network_(std::move(network)), search_(search) {}

absl::StatusOr<std::vector<PlayedPlan>> AgentSolver::Propose(const ProgramFacts& facts,
                                                             uint64_t seed,
                                                             BudgetMeter& meter) const {
  std::vector<PlayedPlan> plans;
  if (program_.decisions() == 0) return plans;
  const bool has_deadline = meter.deadline() != absl::InfiniteFuture();
  const absl::Time start = SteadyNow();
  const absl::Time end = meter.deadline() + kOverrun * (meter.deadline() - start);
  AgentOptions options;
  options.search = search_;
  options.deadline = meter.deadline();
  options.max_games =
      has_deadline ? meter.games_left() : std::min(meter.games_left(), kGamesWithoutDeadline);
  options.stop = [&meter, end] {
    const absl::Time now = SteadyNow();
    return now >= end || meter.budget().Check(now);
  };
  options.seed = seed;
  const absl::StatusOr<AgentGames> played = PlayAgent(program_, network_, options);
  if (!played.ok()) return played.status();
  for (uint64_t game = 0; game < played->played; ++game) meter.CountGame();
  meter.budget().CountSimulations(played->simulations);
  for (const std::vector<Action>& actions : played->games) {
    const Game game = PlayActions(facts.rules(), actions);
    plans.push_back({.plan = PlanOf(game), .cycles = game.cycles()});
    meter.budget().Found(plans.back());
  }
  return plans;
}

}  // namespace mallocmuzero
