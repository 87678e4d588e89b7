#include "learner/return_baseline.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

struct Decision {
  uint32_t access;
  double reward;
};

v1::Trajectory MakeGame(double initial, const std::vector<Decision>& decisions) {
  v1::Trajectory game;
  game.set_initial_return(initial);
  for (const Decision& decision : decisions) {
    game.mutable_actions()->push_back(0);
    game.add_accesses(decision.access);
    game.add_rewards(decision.reward);
  }
  return game;
}

TEST(ReturnBaseline, IsTheMeanReturnToGoByAccess) {
  ReturnBaseline baseline(5);
  // Accesses 1 and 3 are decided; what is to go from 0 is what is to go from 1.
  baseline.Add(MakeGame(0.5, {{1, 0.2}, {3, 0.1}}));
  baseline.Add(MakeGame(0.5, {{1, 0.0}, {3, 0.1}}));
  EXPECT_EQ(baseline.At(1), 0);  // not refreshed
  baseline.Refresh();
  EXPECT_NEAR(baseline.At(0), 0.2, 1e-12);  // (0.3 + 0.1) / 2
  EXPECT_NEAR(baseline.At(1), 0.2, 1e-12);
  EXPECT_NEAR(baseline.At(2), 0.1, 1e-12);
  EXPECT_NEAR(baseline.At(3), 0.1, 1e-12);
  EXPECT_NEAR(baseline.At(4), 0, 1e-12);
  EXPECT_NEAR(baseline.At(5), 0, 1e-12);
}

TEST(ReturnBaseline, ScaleIsTheSpreadOfReturnsToGo) {
  ReturnBaseline baseline(1);
  for (int i = 0; i < 2000; ++i) baseline.Add(MakeGame(0, {{0, i % 2 == 0 ? 0.3 : 0.1}}));
  baseline.Refresh();
  EXPECT_NEAR(baseline.At(0), 0.2, 0.01);
  EXPECT_NEAR(baseline.scale(), 0.1, 0.005);  // 0.1 above and below the mean
}

TEST(ReturnBaseline, GamesAllAlikeHaveALeastScale) {
  ReturnBaseline baseline(1);
  for (int i = 0; i < 10; ++i) baseline.Add(MakeGame(0, {{0, 0.3}}));
  baseline.Refresh();
  EXPECT_GT(baseline.scale(), 0);
  EXPECT_LT(baseline.scale(), 1e-5);
}

TEST(ReturnBaseline, RecentGamesCountMost) {
  ReturnBaseline baseline(1);
  for (int i = 0; i < 1000; ++i) baseline.Add(MakeGame(0, {{0, 0.1}}));
  for (int i = 0; i < 2000; ++i) baseline.Add(MakeGame(0, {{0, 0.3}}));
  baseline.Refresh();
  EXPECT_NEAR(baseline.At(0), 0.3, 1e-3);
}

TEST(ReturnBaseline, GoesOnAfterRestore) {
  ReturnBaseline baseline(2);
  for (int i = 0; i < 7; ++i) baseline.Add(MakeGame(0, {{0, 0.1 * i}, {1, 0.2}}));
  baseline.Refresh();
  baseline.Add(MakeGame(0, {{0, 0.9}, {1, 0.2}}));
  ReturnBaseline again(2);
  ASSERT_TRUE(again.Restore(baseline.Save()));
  EXPECT_EQ(again.At(0), baseline.At(0));
  EXPECT_EQ(again.scale(), baseline.scale());
  for (ReturnBaseline* one : {&baseline, &again}) {
    one->Add(MakeGame(0, {{0, 0.4}, {1, 0.1}}));
    one->Refresh();
  }
  EXPECT_EQ(again.At(0), baseline.At(0));
  EXPECT_EQ(again.scale(), baseline.scale());
  ReturnBaseline other(3);
  EXPECT_FALSE(other.Restore(baseline.Save()));
}

}  // namespace
}  // namespace mallocmuzero
