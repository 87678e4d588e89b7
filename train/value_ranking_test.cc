#include "train/value_ranking.h"

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "env/testing/random_game_program.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using Ranking = v1::ValueBenchReport::Ranking;

Ranking Count(const std::vector<double>& truths, const std::vector<double>& predictions,
              double least) {
  Ranking ranking;
  CountPairs(truths, predictions, least, ranking);
  return ranking;
}

TEST(CountPairs, CountsThoseThatDifferEnoughAndArePutInOrder) {
  // Five of the six pairs differ by 1 or more; 3 and 3.5 do not.
  const std::vector<double> truths = {1, 2, 3, 3.5};
  EXPECT_EQ(Count(truths, {10, 20, 30, 40}, 1).pairs(), 5);
  EXPECT_DOUBLE_EQ(Count(truths, {10, 20, 30, 40}, 1).right(), 1);
  EXPECT_DOUBLE_EQ(Count(truths, {40, 30, 20, 10}, 1).right(), 0);
  // Only the pair of 1 and 2 has the wrong order: four of five are right.
  EXPECT_DOUBLE_EQ(Count(truths, {25, 20, 30, 40}, 1).right(), 0.8);
  // Equal predictions count as half right.
  EXPECT_DOUBLE_EQ(Count(truths, {7, 7, 7, 7}, 1).right(), 0.5);
}

TEST(CountPairs, NoPairsHaveNoShare) {
  const Ranking ranking = Count({1, 1.5}, {1, 2}, 1);
  EXPECT_EQ(ranking.pairs(), 0);
  EXPECT_FALSE(ranking.has_right());
}

TEST(CountPairs, AddsToWhatIsThere) {
  Ranking ranking = Count({0, 1}, {0, 1}, 1);    // 1 of 1 pairs is right
  CountPairs({0, 1, 2}, {0, 2, 1}, 1, ranking);  // 2 of 3 pairs are right
  CountPairs({0, 0.5}, {0, 2}, 1, ranking);      // no pair counts
  EXPECT_EQ(ranking.pairs(), 4);
  EXPECT_DOUBLE_EQ(ranking.right(), 0.75);
}

std::unique_ptr<PlayedProgram> SomeProgram() {
  std::mt19937_64 random(4);
  for (;;) {
    std::unique_ptr<PlayedProgram> played =
        PlayedProgram::Create(testing::RandomGameProgram(random));
    if (played->decisions() >= 12) return played;
  }
}

TEST(RankGames, AFreshNetworkKnowsWhatIsSavedAndNothingOfWhatIsToCome) {
  SetComputeThreads(1);
  const std::unique_ptr<PlayedProgram> program = SomeProgram();
  const auto network = Network::Create(*NetworkPreset("tiny"), 1);
  const auto snapshot = (*network)->Snapshot({});
  v1::ValueBenchReport report;
  ASSERT_TRUE(RankGames(*program, *snapshot, nullptr, {.games = 40}, report).ok());
  ASSERT_EQ(report.points_size(), 7);
  for (const v1::ValueBenchReport::Point& point : report.points()) {
    ASSERT_GT(point.whole().pairs(), 0);
    // The network's values are 0, so they change nothing but the rounding of ties.
    EXPECT_NEAR(point.whole().right(), point.whole_without_value().right(), 0.02);
    // The policy's continuation is known only for games that continue to explore.
    const bool explores_on = point.explored() == "to the end" && point.at() < 1;
    EXPECT_EQ(point.whole_by_policy().pairs(), explores_on ? point.whole().pairs() : 0);
    EXPECT_GT(point.whole_by_policy().right(), explores_on ? 0.5 : -1);
  }
  const v1::ValueBenchReport::Point& late = report.points(6);
  EXPECT_EQ(late.at(), 1);
  EXPECT_EQ(late.explored(), "to the end");
  EXPECT_GT(late.whole().right(), 0.9);
  ASSERT_EQ(report.totals_size(), 2);
  for (const v1::ValueBenchReport::Point& total : report.totals()) {
    double pairs = 0;
    for (const v1::ValueBenchReport::Point& point : report.points()) {
      if (point.explored() == total.explored()) pairs += point.to_go().pairs();
    }
    EXPECT_EQ(total.to_go().pairs(), pairs);
  }

  // A second run gives the same report, since nothing depends on the clock.
  v1::ValueBenchReport again;
  ASSERT_TRUE(RankGames(*program, *snapshot, nullptr, {.games = 40}, again).ok());
  EXPECT_EQ(again.SerializeAsString(), report.SerializeAsString());
}

}  // namespace
}  // namespace mallocmuzero
