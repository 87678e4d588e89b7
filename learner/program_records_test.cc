#include "learner/program_records.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "actor/game_recorder.h"
#include "env/game.h"
#include "env/players.h"
#include "env/program_set.h"
#include "env/testing/random_program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ProgramRecordsTest : public ::testing::Test {
 protected:
  v1::Trajectory Play(size_t p, PlayerKind kind) const {
    Player player(kind, 1);
    player.StartGame();
    GameRecorder recorder(programs_[p], TrajectoryId(1, 2, p), v1::Trajectory::SELF_PLAY, 0);
    Game game(programs_[p].rules());
    recorder.Start(game);
    while (!game.finished()) recorder.Apply(game, player.Choose(game));
    return std::move(recorder).Finish();
  }

  const ProgramSet programs_ = testing::RandomProgramSet(11, 2);
  ProgramRecords records_ = *ProgramRecords::Create(programs_, 0);
};

TEST_F(ProgramRecordsTest, AProgramIsImprovedByABetterGameOnly) {
  EXPECT_THAT(records_.TakeImproved(), IsEmpty());
  records_.NoteGame(Play(1, PlayerKind::kEager), kAgentPlayer);
  EXPECT_THAT(records_.TakeImproved(), ElementsAre(1));
  EXPECT_THAT(records_.TakeImproved(), IsEmpty());
  records_.NoteGame(Play(1, PlayerKind::kEager), kAgentPlayer);
  EXPECT_THAT(records_.TakeImproved(), IsEmpty());
  records_.PutBackImproved(1);
  EXPECT_THAT(records_.TakeImproved(), ElementsAre(1));
}

TEST_F(ProgramRecordsTest, StandingsKnowTheMeanOfTheGamesInTheBaseline) {
  EXPECT_TRUE(std::isnan(records_.Standings()[0].mean_return));
  const v1::Trajectory game = Play(0, PlayerKind::kRandom);
  records_.AddToBaseline(game);
  records_.Refresh();
  const std::vector<ProgramStanding> standings = records_.Standings();
  // The mean of one game is its return.
  EXPECT_NEAR(standings[0].mean_return, TotalReturn(game).share(), 1e-9);
  EXPECT_GE(standings[0].best_return, records_.progress()[0].greedy_return);
  EXPECT_GT(standings[0].scale, 0);
  EXPECT_TRUE(std::isnan(standings[1].mean_return));
}

TEST_F(ProgramRecordsTest, TheBestKnownReturnIsThatOfTheBestPlayer) {
  records_.NoteGame(Play(0, PlayerKind::kRandom), kAgentPlayer);
  const ProgramProgress& progress = records_.progress()[0];
  EXPECT_GE(records_.Standings()[0].best_return, progress.greedy_return);
  EXPECT_GE(records_.Standings()[0].best_return, progress.best_return);
}

TEST_F(ProgramRecordsTest, GoesOnFromWhatItHasSaved) {
  const v1::Trajectory game = Play(0, PlayerKind::kEager);
  records_.NoteGame(game, kAgentPlayer);
  records_.AddToBaseline(game);
  records_.Refresh();
  records_.SetPolicyReturn(0, 0.25);
  ProgramRecords later = *ProgramRecords::Create(programs_, 0);
  EXPECT_FALSE(later.Restore(1, records_.Save(0)));
  ASSERT_TRUE(later.Restore(0, records_.Save(0)));
  EXPECT_EQ(later.Save(0).SerializeAsString(), records_.Save(0).SerializeAsString());
  EXPECT_EQ(later.progress()[0].policy_return, 0.25);
  // Whether the mapping was written is not saved.
  EXPECT_THAT(later.TakeImproved(), ElementsAre(0));
}

}  // namespace
}  // namespace mallocmuzero
