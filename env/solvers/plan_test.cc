#include "env/solvers/plan.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/testing/index_matching.h"
#include "env/game.h"
#include "env/players.h"
#include "env/program_rules.h"
#include "env/testing/corpus_programs.h"
#include "env/testing/games.h"
#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/simulate.h"
#include "simulator/core/testing/program_builder.h"
#include "simulator/validate/validate.h"

namespace mallocmuzero {
namespace {

using enum Action;
using ::testing::ElementsAre;
using testing::EverythingMatters;
using testing::ProgramBuilder;
using testing::Read;
using testing::Write;

// A value that is made at 0 and read at 1 and 5, with time to go out and to come back between.
Program MadeAndReadTwice() {
  ProgramBuilder builder;
  builder.AddBuffer(100);
  builder.AddInstruction(50, {Write(0, 5)});
  builder.AddInstruction(50, {Read(0, 5)});
  for (int k = 0; k < 3; ++k) builder.AddInstruction(50);
  builder.AddInstruction(50, {Read(0, 5)});
  return builder.Build();
}

TEST(PlayedUnless, AGameThatIsGivenUpHasNoCycles) {
  const Program program = testing::LayeredProgram(3);
  const ProgramRules rules = EverythingMatters(program);
  const Plan plan(rules.access_count(), kCopy);
  int decisions = 0;
  const auto count = [&decisions] {
    ++decisions;
    return false;
  };
  EXPECT_EQ(PlayedUnless(rules, plan, count)->cycles, Played(rules, plan).cycles);
  ASSERT_GT(decisions, 10);
  for (const int most : {0, 1, decisions - 1}) {
    int left = most;
    EXPECT_EQ(PlayedUnless(rules, plan, [&left] { return left-- == 0; }), std::nullopt) << most;
  }
}

TEST(PlanOf, TheDecidedAccessesSaveAGame) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = testing::RandomGameProgram(random);
    const ProgramRules rules = ProgramRules::Create(program);
    Player player(PlayerKind::kRandom, seed);
    player.StartGame();
    std::vector<AccessIndex> decided;
    Game game(rules);
    while (!game.finished()) {
      decided.push_back(game.access());
      game.Apply(player.Choose(game));
    }
    const Plan plan = PlanOf(game, decided);
    EXPECT_EQ(plan, PlanOf(game));
    EXPECT_EQ(Played(rules, plan).cycles, game.cycles());
  }
}

TEST(FollowPlan, CopiesWhereTheMappingCopies) {
  const Program program = MadeAndReadTwice();
  const ProgramRules rules = EverythingMatters(program);
  for (const std::vector<Action>& actions :
       {std::vector<Action>{kCopy, kNoCopy, kCopy}, {kNoCopy, kNoCopy, kNoCopy}, {kDrop}}) {
    Plan plan(program.access_count(), kDrop);
    std::copy(actions.begin(), actions.end(), plan.begin());
    Game game(rules);
    PlayPlan(plan, game);
    const Mapping mapping = game.ToMapping();
    Game again(rules);
    PlayPlan(FollowPlan(program, mapping), again);
    EXPECT_EQ(again.ToMapping(), mapping);
  }
}

TEST(FollowPlan, FlagsAloneKeepAValueThatIsWantedAgain) {
  const Program program = MadeAndReadTwice();
  EXPECT_THAT(FollowPlan(program, IndexVector<AccessIndex, uint8_t>{1, 1, 1}),
              ElementsAre(kNoCopy, kNoCopy, kNoCopy));
  EXPECT_THAT(FollowPlan(program, IndexVector<AccessIndex, uint8_t>{1, 1, 0}),
              ElementsAre(kCopy, kNoCopy, kDrop));
}

// The compiler's placements are full to the last byte, and copy what they will not keep: a game
// that could not play them would not find better ones either.
TEST(FollowPlan, TheCompilersPlacementsCanBePlayed) {
  double lost = 0;
  int programs = 0;
  for (const std::string& path : testing::CorpusPaths(MALLOCMUZERO_SOURCE_DIR)) {
    const absl::StatusOr<Program> program = LoadProgram(path);
    ASSERT_TRUE(program.ok()) << program.status();
    const absl::StatusOr<Mapping> compilers = BaselineMapping(*program);
    if (!compilers.ok()) continue;
    const ProgramRules rules = ProgramRules::Create(*program);
    Game game(rules);
    PlayPlan(FollowPlan(*program, *compilers), game);
    lost += game.cycles() / Simulate(*program, *compilers).total_cycles - 1;
    ++programs;
  }
  ASSERT_GE(programs, 50);
  RecordProperty("lost_percent", std::to_string(100 * lost / programs));
  EXPECT_LE(lost / programs, 0.005);
}

}  // namespace
}  // namespace mallocmuzero
