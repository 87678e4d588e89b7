#include "actor/agent.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "actor/round_pacer.h"
#include "actor/self_play.h"
#include "base/random.h"
#include "base/steady_clock.h"
#include "env/recorded_game.h"
#include "model/network_config.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

// Mean number of explored decisions of a game; the games of a round take these by turns.
constexpr float kExplored[] = {2, 4, 8, 1};

// The most games that PlayAgent returns.
constexpr size_t kMostReturned = 4;

// Time of a decision with search in decisions without search, estimated by their arithmetic.
double SearchCost(const v1::NetworkConfig& config, uint32_t simulations) {
  const NetworkCost cost = CostOf(config);
  return 1 + simulations * static_cast<double>(cost.step_flops) / cost.root_flops;
}

// The first game of a round does not explore, and the others do.
std::vector<GameTask> MakeTasks(const PlayedProgram& program, const AgentRound& round,
                                uint64_t played, Random& seeds) {
  std::vector<GameTask> tasks;
  for (uint64_t g = 0; g < round.games; ++g) {
    const bool explores = g > 0;
    const float explored = kExplored[g % std::size(kExplored)];
    tasks.push_back({.program = &program,
                     .id = absl::StrCat(played + g),
                     .seed = seeds.Next(),
                     .explored = explores ? explored / static_cast<float>(program.decisions()) : 0,
                     .searched = round.searches ? 1.0F : 0.0F});
  }
  return tasks;
}

}  // namespace

AgentNetwork OwnBatches(std::shared_ptr<const NetworkSnapshot> snapshot) {
  v1::NetworkConfig config = snapshot->config();
  return {.config = std::move(config),
          .make_model = [snapshot = std::move(snapshot)](uint32_t slots) {
            return NetworkSnapshot::MakeLatentModel(snapshot, slots);
          }};
}

absl::StatusOr<AgentGames> PlayAgent(const PlayedProgram& program, const AgentNetwork& network,
                                     const AgentOptions& options) {
  const absl::StatusOr<std::unique_ptr<SelfPlay>> self_play =
      SelfPlay::Create(options.search, RoundPacer::kMostGames, network.make_model);
  if (!self_play.ok()) return self_play.status();
  SetComputeThreads(1);
  Random seeds(options.seed);
  std::vector<std::pair<double, std::string>> best;  // return and actions, the best first
  AgentGames result;
  RoundPacer pacer(SearchCost(network.config, options.search.simulations));
  for (;;) {
    const absl::Time start = SteadyNow();
    AgentRound round = pacer.Next(absl::ToDoubleSeconds(options.deadline - start));
    round.games = std::min(round.games, options.max_games - result.played);
    if (round.games == 0) break;
    const std::vector<GameTask> tasks = MakeTasks(program, round, result.played, seeds);
    const absl::StatusOr<std::vector<v1::Trajectory>> games =
        (*self_play)->Play(tasks, 0, options.stop);
    if (!games.ok()) return games.status();
    for (const v1::Trajectory& game : *games) {
      ++result.played;
      best.emplace_back(TotalReturn(game).share(), game.actions());
    }
    std::sort(best.begin(), best.end(), std::greater<>());
    best.erase(std::unique(best.begin(), best.end()), best.end());
    if (best.size() > kMostReturned) best.resize(kMostReturned);
    if (options.stop && options.stop()) break;
    pacer.Add(round, absl::ToDoubleSeconds(SteadyNow() - start));
  }
  result.simulations = (*self_play)->TakeStats().simulations;
  for (const auto& [value, actions] : best) result.games.push_back(ActionsOf(actions));
  return result;
}

}  // namespace mallocmuzero
