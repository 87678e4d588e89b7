#include "actor/demonstrations.h"

#include <cstddef>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/steady_clock.h"
#include "env/recorded_game.h"
#include "env/testing/random_program_set.h"
#include "gtest/gtest.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

TEST(Demonstrations, AreWholeGamesOfWhichTheSearchersIsTheBest) {
  const ProgramSet programs = testing::RandomProgramSet(7, 8);
  std::set<std::string> ids;
  for (size_t p = 0; p < programs.size(); ++p) {
    SolveOptions options;
    options.max_games = 100;
    const auto games = ShowGames(programs[p], options, [&](size_t teacher) {
      return DemonstrationId(programs[p], teacher);
    });
    ASSERT_TRUE(games.ok()) << games.status();
    ASSERT_EQ(games->size(), Teachers().size());
    for (const v1::Trajectory& game : *games) {
      EXPECT_EQ(CheckRecordedGame(programs[p], game), absl::OkStatus());
      EXPECT_EQ(game.source(), v1::Trajectory::DEMONSTRATION);
      EXPECT_LE(TotalReturn(game), TotalReturn(games->back()));
      EXPECT_TRUE(ids.insert(game.id()).second);
    }
  }
}

TEST(Demonstrations, AreWholeGamesThoughThereIsNoTime) {
  const ProgramSet programs = testing::RandomProgramSet(7, 8);
  SolveOptions options;
  options.deadline = SteadyNow() - absl::Seconds(1);
  const auto games = ShowGames(
      programs[0], options, [&](size_t teacher) { return DemonstrationId(programs[0], teacher); });
  ASSERT_TRUE(games.ok()) << games.status();
  for (const v1::Trajectory& game : *games) {
    EXPECT_EQ(CheckRecordedGame(programs[0], game), absl::OkStatus());
  }
}

}  // namespace
}  // namespace mallocmuzero
