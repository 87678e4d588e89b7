#include "learner/return_baseline.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

struct Decision {
  uint32_t access;
  double reward;
};

// Game number `n`, with the return `total`.
v1::Trajectory MakeGameOf(double total, int n) {
  v1::Trajectory game;
  game.set_id(std::string(16, n));
  game.set_initial_return(total);
  game.mutable_actions()->push_back(0);
  game.add_accesses(0);
  game.add_rewards(0);
  return game;
}

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
  // Accesses 1 and 3 are decisions, so the return to go at access 0 is that at access 1.
  baseline.Add(MakeGame(0.5, {{1, 0.2}, {3, 0.1}}));
  baseline.Add(MakeGame(0.5, {{1, 0.0}, {3, 0.1}}));
  EXPECT_EQ(baseline.At(1).share(), 0);  // not refreshed
  baseline.Refresh();
  EXPECT_NEAR(baseline.At(0).share(), 0.2, 1e-12);  // (0.3 + 0.1) / 2
  EXPECT_NEAR(baseline.At(1).share(), 0.2, 1e-12);
  EXPECT_NEAR(baseline.At(2).share(), 0.1, 1e-12);
  EXPECT_NEAR(baseline.At(3).share(), 0.1, 1e-12);
  EXPECT_NEAR(baseline.At(4).share(), 0, 1e-12);
  EXPECT_NEAR(baseline.At(5).share(), 0, 1e-12);
}

TEST(ReturnBaseline, UnitsAreTheDeviationAndARewardIsWhatExceedsTheFallOfTheMean) {
  ReturnBaseline baseline(5);
  baseline.Add(MakeGame(0.5, {{1, 0.2}, {3, 0.1}}));
  baseline.Add(MakeGame(0.5, {{1, 0.0}, {3, 0.1}}));
  baseline.Refresh();
  // The second game is 0.2 below the first at access 1 and equal at access 3: a mean square of
  // 0.02, and the 0.01 of before counts as one more game.
  const double scale = std::sqrt((0.02 + 0.01 * 0.01) / 2);
  EXPECT_NEAR(baseline.scale().share(), scale, 1e-12);
  // The mean return to go falls from 0.2 to 0.1 and then to 0.
  EXPECT_NEAR(baseline.ToNetwork(HbmShare(0.3), 1).value(), 0.1 / scale, 1e-9);
  EXPECT_NEAR(baseline.RewardToNetwork(HbmShare(0.2), 1, 3).value(), 0.1 / scale, 1e-9);
  EXPECT_NEAR(baseline.RewardToNetwork(HbmShare(0.05), 3, 5).value(), -0.05 / scale, 1e-9);
  EXPECT_NEAR(baseline.FromNetwork(NetworkValue(-1), 3).share(), 0.1 - scale, 1e-12);
}

TEST(ReturnBaseline, BehindItsLastDecisionAGameSavesNothing) {
  ReturnBaseline baseline(5);
  baseline.Add(MakeGame(0.5, {{1, 0.2}, {4, 0.3}}));
  baseline.Add(MakeGame(0.5, {{1, 0.2}}));
  baseline.Refresh();
  EXPECT_NEAR(baseline.At(1).share(), 0.35, 1e-12);  // (0.5 + 0.2) / 2
  EXPECT_NEAR(baseline.At(4).share(), 0.15, 1e-12);  // (0.3 + 0) / 2
}

TEST(ReturnBaseline, ScaleIsTheSpreadOfReturnsToGo) {
  ReturnBaseline baseline(1);
  for (int i = 0; i < 2000; ++i) baseline.Add(MakeGame(0, {{0, i % 2 == 0 ? 0.3 : 0.1}}));
  baseline.Refresh();
  EXPECT_NEAR(baseline.At(0).share(), 0.2, 0.01);
  EXPECT_NEAR(baseline.scale().share(), 0.1, 0.005);  // 0.1 above and below the mean
}

TEST(ReturnBaseline, GamesAllAlikeHaveALeastScale) {
  ReturnBaseline baseline(1);
  double before = 1;
  for (int n = 10; n <= 100'000; n *= 10) {
    for (int i = 0; i < n; ++i) baseline.Add(MakeGame(0, {{0, 0.3}}));
    baseline.Refresh();
    EXPECT_GT(baseline.scale(), HbmShare(0));
    EXPECT_LT(baseline.scale().share(), before / 3);
    before = baseline.scale().share();
  }
}

TEST(ReturnBaseline, OneGameDoesNotMakeTheNextASurpriseWithoutMeasure) {
  ReturnBaseline baseline(1);
  baseline.Add(MakeGame(0, {{0, 0.3}}));
  baseline.Refresh();
  // Another game of the program saves 2 points more.
  EXPECT_NEAR(baseline.ToNetwork(HbmShare(0.32), 0).value(), 2, 0.1);
}

TEST(ReturnBaseline, SearchedValuesAreConvertedOnlyByABaselineOfGames) {
  v1::Trajectory game = MakeGame(0, {{0, 0.3}});
  game.add_root_values(2);
  ReturnBaseline baseline(1);
  baseline.Refresh();
  EXPECT_FALSE(baseline.is_measured());
  NoteSearchedReturns(baseline, game);
  EXPECT_EQ(game.searched_returns_size(), 0);
  baseline.Add(game);
  baseline.Refresh();
  EXPECT_TRUE(baseline.is_measured());
  NoteSearchedReturns(baseline, game);
  ASSERT_EQ(game.searched_returns_size(), 1);
  // The mean is 0.3. The deviation after one game is still the one that is assumed before, 0.01.
  EXPECT_NEAR(game.searched_returns(0), 0.3 + 2 * 0.01, 1e-6);
  ReturnBaseline restored(1);
  ASSERT_TRUE(restored.Restore(baseline.Save()));
  EXPECT_TRUE(restored.is_measured());
}

TEST(ReturnBaseline, StaysMeasuredOrNotAfterRestoreThoughItsGamesSaveNothing) {
  v1::Trajectory game = MakeGame(0, {{0, 0}});
  game.add_root_values(0.5F);
  const auto restored = [](const ReturnBaseline& saved) {
    ReturnBaseline again(1);
    EXPECT_TRUE(again.Restore(saved.Save()));
    return again.is_measured();
  };
  ReturnBaseline baseline(1);
  baseline.Refresh();
  EXPECT_FALSE(restored(baseline));
  baseline.Add(game);
  EXPECT_FALSE(restored(baseline));  // not refreshed
  baseline.Refresh();
  EXPECT_TRUE(restored(baseline));
}

TEST(ReturnBaseline, RecentGamesCountMost) {
  ReturnBaseline baseline(1);
  for (int i = 0; i < 1000; ++i) baseline.Add(MakeGame(0, {{0, 0.1}}));
  for (int i = 0; i < 2000; ++i) baseline.Add(MakeGame(0, {{0, 0.3}}));
  baseline.Refresh();
  EXPECT_NEAR(baseline.At(0).share(), 0.3, 1e-3);
}

TEST(ReturnBaseline, AGameIsWonIfItBeatsTheQuantileOfThoseBefore) {
  ReturnBaseline baseline(1, 0.75);
  EXPECT_EQ(baseline.Outcome(MakeGameOf(0.5, 0)), NetworkValue(0));  // nothing to compare with yet
  // Six of the eight returns from 0.1 to 0.8 do not exceed 0.6.
  for (const int i : {3, 8, 1, 6, 2, 7, 5, 4}) baseline.Add(MakeGameOf(0.1 * i, i));
  EXPECT_EQ(baseline.Outcome(MakeGameOf(0.5, 0)), NetworkValue(0));  // not refreshed
  baseline.Refresh();
  EXPECT_EQ(baseline.Outcome(MakeGameOf(0.61, 1)), NetworkValue(1));
  EXPECT_EQ(baseline.Outcome(MakeGameOf(0.59, 1)), NetworkValue(-1));
  EXPECT_EQ(baseline.Outcome(MakeGameOf(-0.3, 1)), NetworkValue(-1));
}

TEST(ReturnBaseline, RankedValuesAreNoReturns) {
  v1::Trajectory game = MakeGameOf(0.3, 1);
  game.add_root_values(0.5F);
  ReturnBaseline baseline(1, 0.75);
  baseline.Add(game);
  baseline.Refresh();
  ASSERT_TRUE(baseline.is_measured());
  NoteSearchedReturns(baseline, game);
  EXPECT_EQ(game.searched_returns_size(), 0);
}

TEST(ReturnBaseline, TiesAreWonByHalfOfTheGamesWhateverTheirOrder) {
  ReturnBaseline baseline(1, 0.75);
  for (int i = 0; i < 256; ++i) baseline.Add(MakeGameOf(0.3, i));
  baseline.Refresh();
  std::vector<double> outcomes;
  double won = 0;
  for (int i = 0; i < 256; ++i) {
    // Rounding must not decide a game.
    outcomes.push_back(
        baseline.Outcome(MakeGameOf(0.3 + (i % 2 == 0 ? 1e-13 : -1e-13), i)).value());
    won += outcomes.back() > 0 ? 1 : 0;
  }
  EXPECT_NEAR(won, 128, 32);  // four deviations of 256 coins
  for (int i = 255; i >= 0; --i)
    EXPECT_EQ(baseline.Outcome(MakeGameOf(0.3, i)).value(), outcomes[i]);
}

TEST(ReturnBaseline, OldGamesNeedNotBeBeaten) {
  ReturnBaseline baseline(1, 0.5);
  for (int i = 0; i < 300; ++i) baseline.Add(MakeGameOf(0.9, i));
  for (int i = 0; i < 200; ++i) baseline.Add(MakeGameOf(0.2, i));
  baseline.Refresh();
  // The return to beat is 0.2, as 200 of the latest 256 games have it.
  EXPECT_EQ(baseline.Outcome(MakeGameOf(0.5, 1)), NetworkValue(1));
}

TEST(ReturnBaseline, RankedOnesGoOnAfterRestoreAndAreNotMixedUpWithOthers) {
  ReturnBaseline baseline(1, 0.5);
  for (int i = 0; i < 9; ++i) baseline.Add(MakeGameOf(0.1 * i, i));
  baseline.Refresh();
  baseline.Add(MakeGameOf(0.95, 9));
  ReturnBaseline again(1, 0.5);
  ASSERT_TRUE(again.Restore(baseline.Save()));
  EXPECT_EQ(again.Save().SerializeAsString(), baseline.Save().SerializeAsString());
  EXPECT_EQ(again.Outcome(MakeGameOf(0.41, 1)), NetworkValue(1));
  EXPECT_EQ(again.Outcome(MakeGameOf(0.39, 1)), NetworkValue(-1));
  EXPECT_FALSE(ReturnBaseline(1).Restore(baseline.Save()));
  EXPECT_FALSE(ReturnBaseline(1, 0.5).Restore(ReturnBaseline(1).Save()));
}

TEST(ReturnBaseline, IsNotRestoredFromNumbersThatNoBaselineHas) {
  ReturnBaseline baseline(1, 0.5);
  for (int i = 0; i < 9; ++i) baseline.Add(MakeGameOf(0.1 * i, i));
  baseline.Refresh();
  const v1::ReturnBaselineState good = baseline.Save();
  const auto restores = [&](const std::function<void(v1::ReturnBaselineState&)>& change) {
    v1::ReturnBaselineState state = good;
    change(state);
    return ReturnBaseline(1, 0.5).Restore(state);
  };
  EXPECT_TRUE(restores([](auto&) {}));
  // Values are divided by it.
  for (const double scale : {0.0, -1.0, std::nan(""), 1e300}) {
    EXPECT_FALSE(restores([&](auto& state) { state.set_scale(scale); })) << scale;
  }
  for (const double number : {std::nan(""), 1.0 / 0.0, -1e300}) {
    EXPECT_FALSE(restores([&](auto& state) { state.set_variance(number); })) << number;
    EXPECT_FALSE(restores([&](auto& state) { state.set_mean(0, number); })) << number;
    EXPECT_FALSE(restores([&](auto& state) { state.set_frozen(1, number); })) << number;
    EXPECT_FALSE(restores([&](auto& state) { state.set_returns(0, number); })) << number;
  }
  EXPECT_FALSE(restores([](auto& state) { state.set_return_to_beat(1.0 / 0.0); }));
  EXPECT_TRUE(
      restores([](auto& state) { state.set_return_to_beat(std::nan("")); }));  // no game yet
  EXPECT_FALSE(restores([](auto& state) { state.mutable_returns()->Resize(257, 0.5); }));
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
