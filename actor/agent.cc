#include "actor/agent.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "actor/self_play.h"
#include "env/solvers/random.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

// Games of a round. The first round is short and without a search, so that even a small budget has
// an answer.
constexpr uint32_t kFirstRound = 8;
constexpr uint32_t kGamesInRound = 64;

// Decisions explored in a game of a round, on average, by turns.
constexpr float kExplored[] = {2, 4, 8, 1};

}  // namespace

absl::StatusOr<AgentGames> PlayAgent(const PlayedProgram& program,
                                     const std::shared_ptr<const NetworkSnapshot>& network,
                                     const AgentOptions& options) {
  auto model = NetworkSnapshot::MakeLatentModel(
      network, SelfPlay::SlotsNeeded(options.search, kGamesInRound));
  if (!model.ok()) return model.status();
  SetComputeThreads(1);
  SelfPlay self_play(options.search, kGamesInRound, *std::move(model));
  Random seeds(options.seed);
  std::vector<std::pair<double, std::string>> best;  // return and actions, ascending
  AgentGames result;
  for (uint32_t round = 0;; ++round) {
    const uint64_t games = std::min<uint64_t>(round == 0 ? kFirstRound : kGamesInRound,
                                              options.max_games - result.played);
    std::vector<GameTask> tasks;
    for (uint64_t g = 0; g < games; ++g) {
      const bool explores = g > 0;
      const float explored = kExplored[g % std::size(kExplored)];
      tasks.push_back(
          {.program = &program,
           .id = absl::StrCat(round, "/", g),
           .seed = seeds.Next(),
           .explored = explores ? explored / static_cast<float>(program.decisions()) : 0,
           .searched = round > 0 ? 1.0F : 0.0F});
    }
    for (const v1::Trajectory& game : self_play.Play(tasks, 0, options.stop)) {
      ++result.played;
      best.emplace_back(TotalReturn(game), game.actions());
    }
    std::sort(best.begin(), best.end(), std::greater<>());
    best.erase(std::unique(best.begin(), best.end()), best.end());
    if (best.size() > options.best) best.resize(options.best);
    if (absl::Now() >= options.deadline || result.played >= options.max_games ||
        (options.stop && options.stop())) {
      break;
    }
  }
  for (const auto& [value, actions] : best) {
    std::vector<Action>& game = result.games.emplace_back();
    for (const char action : actions) game.push_back(static_cast<Action>(action));
  }
  return result;
}

}  // namespace mallocmuzero
