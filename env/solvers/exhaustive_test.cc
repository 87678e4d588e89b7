// The exhaustive search against every game there is.

#include "env/solvers/exhaustive.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>

#include "env/game.h"
#include "env/solvers/solve.h"
#include "env/testing/random_game_program.h"
#include "env/testing/tiny_program.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"

namespace mallocmuzero {
namespace {

// What all sequences of legal actions come to, by the simulator and without any shortcut.
struct AllGames {
  double fewest_cycles = std::numeric_limits<double>::infinity();
  uint64_t count = 0;

  void PlayFrom(const Game& game) {
    if (game.finished()) {
      ++count;
      fewest_cycles =
          std::min(fewest_cycles, Simulate(game.program(), game.ToMapping()).total_cycles);
      return;
    }
    for (const Action action : kActions) {
      if (!game.IsLegal(action)) continue;
      Game next = game;
      next.Apply(action);
      PlayFrom(next);
    }
  }
};

TEST(Exhaustive, FindsTheFewestCyclesOfAllGames) {
  uint64_t games = 0;
  uint64_t games_searched = 0;
  for (uint64_t seed = 0; seed < 250; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::TinyProgram(random, 15);
    const ProgramRules rules = ProgramRules::Create(program);
    AllGames all;
    all.PlayFrom(Game(rules));
    const absl::StatusOr<Solution> found = Solve("exhaustive", rules, {});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_NEAR(found->cycles, all.fewest_cycles, 1e-9 * all.fewest_cycles) << "seed " << seed;
    games += all.count;
    games_searched += found->games;
  }
  EXPECT_GT(games, 10'000);              // the programs are not trivial,
  EXPECT_LT(games_searched, games / 2);  // and not all of their games had to be played
}

TEST(Exhaustive, RefusesAProgramOfTooManyDecisions) {
  const Program program = testing::LayeredProgram(20);
  const ProgramRules rules = ProgramRules::Create(program);
  const absl::Status status = Solve("exhaustive", rules, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("takes at most 16"), absl::string_view::npos) << status;
}

}  // namespace
}  // namespace mallocmuzero
