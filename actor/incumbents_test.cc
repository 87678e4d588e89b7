#include "actor/incumbents.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "actor/game_recorder.h"
#include "actor/testing/recorded_game.h"
#include "env/game.h"
#include "env/players.h"
#include "env/recorded_game.h"
#include "env/testing/random_program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replay/trajectory_buffer.h"

namespace mallocmuzero {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class IncumbentsTest : public ::testing::Test {
 protected:
  // Offers a random game and returns what it brings.
  HbmShare OfferGame(const PlayedProgram& program, uint64_t seed) {
    const v1::Trajectory game =
        testing::RecordedGame(program, Player(PlayerKind::kRandom, seed), TrajectoryId(1, 2, seed));
    EXPECT_TRUE(incumbents_.Offer(program, TotalReturn(game), ActionsOf(game.actions())));
    return TotalReturn(game);
  }

  const ProgramSet programs_ = testing::RandomProgramSet(11, 2);
  Incumbents incumbents_;
};

TEST_F(IncumbentsTest, ThePlanOfTheBestGamePlaysItAgain) {
  EXPECT_EQ(incumbents_.Find(programs_[0]), nullptr);
  HbmShare best = OfferGame(programs_[0], 0);
  for (uint64_t seed = 1; seed < 20; ++seed) {
    best = std::max(best, OfferGame(programs_[0], seed));
    Game again(programs_[0].rules());
    PlayPlan(incumbents_.Find(programs_[0])->plan, again);
    EXPECT_NEAR(again.total_return(), best.share(), 1e-12);
  }
  EXPECT_EQ(incumbents_.Find(programs_[1]), nullptr);
}

TEST_F(IncumbentsTest, KnowsTheReturnBeforeEachDecisionOfTheGame) {
  const v1::Trajectory played =
      testing::RecordedGame(programs_[0], Player(PlayerKind::kRandom, 1), TrajectoryId(1, 2, 3));
  ASSERT_TRUE(incumbents_.Offer(programs_[0], TotalReturn(played), ActionsOf(played.actions())));
  const std::shared_ptr<const IncumbentGame> incumbent = incumbents_.Find(programs_[0]);
  EXPECT_EQ(incumbent->total_return, TotalReturn(played));
  Game again(programs_[0].rules());
  AccessIndex next = 0;  // the first access whose return is not checked
  for (const Action action : ActionsOf(played.actions())) {
    for (; next <= again.access(); ++next) {
      EXPECT_EQ(incumbent->returns_before[next], again.total_return()) << next;
    }
    again.Apply(action);
  }
  for (; next.number() < static_cast<int32_t>(incumbent->returns_before.size()); ++next) {
    EXPECT_EQ(incumbent->returns_before[next], again.total_return()) << next;
  }
  EXPECT_EQ(next.number(), programs_[0].rules().access_count());
  EXPECT_TRUE(std::equal(incumbent->in_fast_memory.begin(), incumbent->in_fast_memory.end(),
                         again.in_fast_memory().begin(), again.in_fast_memory().end()));
}

TEST_F(IncumbentsTest, AGameOfTheSameReturnIsNotTakenOver) {
  OfferGame(programs_[0], 1);
  const std::shared_ptr<const IncumbentGame> first = incumbents_.Find(programs_[0]);
  OfferGame(programs_[0], 1);
  EXPECT_EQ(incumbents_.Find(programs_[0]), first);
}

TEST_F(IncumbentsTest, TellsAndKeepsTheGamesOfEachProgram) {
  const HbmShare first = OfferGame(programs_[0], 1);
  const HbmShare second = OfferGame(programs_[1], 1);
  EXPECT_THAT(incumbents_.returns(), UnorderedElementsAre(Pair(programs_[0].sha256(), first),
                                                          Pair(programs_[1].sha256(), second)));
  const ProgramSet others = testing::RandomProgramSet(11, 1);
  ASSERT_EQ(others[0].sha256(), programs_[0].sha256());
  incumbents_.Keep(others);
  EXPECT_THAT(incumbents_.returns(), UnorderedElementsAre(Pair(programs_[0].sha256(), first)));
}

TEST_F(IncumbentsTest, RefusesActionsThatAreNoWholeGame) {
  const v1::Trajectory game =
      testing::RecordedGame(programs_[0], Player(PlayerKind::kEager, 1), TrajectoryId(1, 2, 3));
  std::vector<Action> actions = ActionsOf(game.actions());
  const auto refuses = [&] { return !incumbents_.Offer(programs_[0], HbmShare(1), actions); };
  actions.push_back(Action::kDrop);
  EXPECT_TRUE(refuses());
  actions.resize(actions.size() - 2);
  EXPECT_TRUE(refuses());
  actions.push_back(static_cast<Action>(77));
  EXPECT_TRUE(refuses());
  EXPECT_EQ(incumbents_.Find(programs_[0]), nullptr);
}

TEST_F(IncumbentsTest, ThreadsOfferTheirGamesTogether) {
  HbmShare best[4] = {HbmShare(-1), HbmShare(-1), HbmShare(-1), HbmShare(-1)};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t, &best] {
      for (uint64_t seed = 0; seed < 50; ++seed) {
        best[t] = std::max(best[t], OfferGame(programs_[0], 50 * t + seed));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(incumbents_.returns().at(programs_[0].sha256()), *std::max_element(best, best + 4));
}

}  // namespace
}  // namespace mallocmuzero
