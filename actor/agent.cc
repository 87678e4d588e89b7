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

// Games of a round. The first round is so short that even a small budget has an answer and most of
// it left.
constexpr uint64_t kFirstRound = 2;
constexpr uint64_t kGamesInRound = 64;

// Smaller batches cost nearly as much.
constexpr uint64_t kLeastGamesInRound = 8;

// Decisions explored in a game of a round, on average, by turns.
constexpr float kExplored[] = {2, 4, 8, 1};

struct Round {
  uint64_t games = 0;
  bool searches = false;
};

// Of rounds with and without search by turns, as much as there is time for, by what a row of the
// network's batches has taken so far; without search if a round with it would take too long.
Round NextRound(uint32_t number, double seconds, double seconds_a_row, uint32_t decisions,
                uint32_t simulations) {
  for (const bool searches : {true, false}) {
    if (searches && number % 2 == 0) continue;
    const double rows = static_cast<double>(decisions) * (searches ? 1 + simulations : 1);
    const double games = seconds / (rows * seconds_a_row);
    if (games >= kGamesInRound) return {kGamesInRound, searches};
    if (games >= kLeastGamesInRound) return {static_cast<uint64_t>(games), searches};
  }
  return {};
}

}  // namespace

absl::StatusOr<AgentGames> PlayAgent(const PlayedProgram& program,
                                     const std::shared_ptr<const NetworkSnapshot>& network,
                                     const AgentOptions& options) {
  const absl::StatusOr<std::unique_ptr<SelfPlay>> self_play = SelfPlay::Create(
      options.search, kGamesInRound,
      [&network](uint32_t slots) { return NetworkSnapshot::MakeLatentModel(network, slots); });
  if (!self_play.ok()) return self_play.status();
  SetComputeThreads(1);
  Random seeds(options.seed);
  std::vector<std::pair<double, std::string>> best;  // return and actions, the best first
  AgentGames result;
  const absl::Time start = absl::Now();
  Round round = {.games = kFirstRound};
  for (uint32_t number = 0; round.games > 0; ++number) {
    round.games = std::min(round.games, options.max_games - result.played);
    std::vector<GameTask> tasks;
    for (uint64_t g = 0; g < round.games; ++g) {
      const bool explores = g > 0;
      const float explored = kExplored[g % std::size(kExplored)];
      tasks.push_back(
          {.program = &program,
           .id = absl::StrCat(number, "/", g),
           .seed = seeds.Next(),
           .explored = explores ? explored / static_cast<float>(program.decisions()) : 0,
           .searched = round.searches ? 1.0F : 0.0F});
    }
    for (const v1::Trajectory& game : (*self_play)->Play(tasks, 0, options.stop)) {
      ++result.played;
      best.emplace_back(TotalReturn(game), game.actions());
    }
    std::sort(best.begin(), best.end(), std::greater<>());
    best.erase(std::unique(best.begin(), best.end()), best.end());
    if (best.size() > options.best) best.resize(options.best);
    if (result.played >= options.max_games || (options.stop && options.stop())) break;
    const double rows = static_cast<double>((*self_play)->stats().network_rows);
    round = NextRound(number + 1, absl::ToDoubleSeconds(options.deadline - absl::Now()),
                      absl::ToDoubleSeconds(absl::Now() - start) / rows, program.decisions(),
                      options.search.simulations);
  }
  for (const auto& [value, actions] : best) {
    std::vector<Action>& game = result.games.emplace_back();
    for (const char action : actions) game.push_back(static_cast<Action>(action));
  }
  return result;
}

}  // namespace mallocmuzero
