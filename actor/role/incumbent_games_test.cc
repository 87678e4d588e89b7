#include "actor/role/incumbent_games.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "actor/game_recorder.h"
#include "actor/testing/recorded_game.h"
#include "env/players.h"
#include "env/testing/random_program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

using ::testing::IsEmpty;

class IncumbentGamesTest : public ::testing::Test {
 protected:
  // Assigns the first `count` programs.
  static void Assign(float window_share, IncumbentGames& games, int count = 2) {
    v1::Assignment assignment;
    assignment.set_window_share(window_share);
    games.SetAssigned(std::make_shared<const AssignedPrograms>(AssignedPrograms{
        .assignment = assignment, .programs = testing::RandomProgramSet(11, count)}));
  }

  v1::Trajectory Play(size_t program, uint64_t seed) const {
    return testing::RecordedGame(programs_[program], Player(PlayerKind::kRandom, seed),
                                 TrajectoryId(1, 2, seed));
  }

  // The orders of a learner that knows this game.
  static v1::ActorOrders OrdersWith(const v1::Trajectory& game) {
    v1::ActorOrders orders;
    v1::ActorOrders::BestGame& best = *orders.add_best_games();
    best.set_program_sha256(game.program_sha256());
    best.set_total_return(TotalReturn(game).share());
    best.set_actions(game.actions());
    return orders;
  }

  static v1::ActorReport Described(const IncumbentGames& games) {
    v1::ActorReport report;
    games.Describe(report);
    return report;
  }

  const ProgramSet programs_ = testing::RandomProgramSet(11, 2);
  IncumbentGames games_;
};

TEST_F(IncumbentGamesTest, KnowsTheBetterOneOfItsOwnGamesAndTheLearners) {
  v1::Trajectory worse = Play(0, 1);
  v1::Trajectory better = Play(0, 2);
  ASSERT_NE(TotalReturn(worse), TotalReturn(better));
  if (TotalReturn(worse) > TotalReturn(better)) std::swap(worse, better);
  for (const bool own_is_better : {false, true}) {
    IncumbentGames games;
    Assign(0.5, games);
    games.AddGames({own_is_better ? better : worse});
    games.SetOrders(OrdersWith(own_is_better ? worse : better));
    const v1::ActorReport report = Described(games);
    ASSERT_EQ(report.known_games_size(), 1);
    EXPECT_EQ(report.known_games(0).program_sha256(), programs_[0].sha256());
    EXPECT_EQ(report.known_games(0).total_return(), TotalReturn(better).share());
    EXPECT_NE(games.Find(programs_[0]), nullptr);
    EXPECT_EQ(games.Find(programs_[1]), nullptr);
  }
}

TEST_F(IncumbentGamesTest, WithoutWindowsItKnowsNoGames) {
  Assign(0, games_);
  games_.AddGames({Play(0, 1)});
  games_.SetOrders(OrdersWith(Play(0, 2)));
  EXPECT_THAT(Described(games_).known_games(), IsEmpty());
}

TEST_F(IncumbentGamesTest, LeavesOutGamesOfOtherProgramsAndDamagedOnes) {
  games_.SetOrders(OrdersWith(Play(0, 1)));  // before there is an assignment
  Assign(1, games_, 1);
  games_.SetOrders(OrdersWith(Play(1, 1)));
  v1::Trajectory damaged = Play(0, 1);
  damaged.mutable_actions()->pop_back();
  games_.SetOrders(OrdersWith(damaged));
  EXPECT_THAT(Described(games_).known_games(), IsEmpty());
}

TEST_F(IncumbentGamesTest, ForgetsProgramsThatAreNoLongerAssigned) {
  Assign(1, games_);
  games_.AddGames({Play(0, 1), Play(1, 1)});
  EXPECT_EQ(Described(games_).known_games_size(), 2);
  Assign(1, games_, 1);
  EXPECT_EQ(Described(games_).known_games_size(), 1);
  EXPECT_EQ(games_.Find(programs_[1]), nullptr);
}

}  // namespace
}  // namespace mallocmuzero
