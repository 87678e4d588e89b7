#include "replay/service/selector.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "replay/service/best_games.h"

namespace mallocmuzero {
namespace {

using Position = std::pair<Slot, uint32_t>;

// The last of three draws that are made together.
SlotDraw DrawPrioritized(const Selector& selector, std::mt19937_64& random) {
  std::vector<SlotDraw> draws(3);
  selector.DrawPrioritized(random, absl::MakeSpan(draws));
  return draws[2];
}
SlotDraw DrawUniform(const Selector& selector, std::mt19937_64& random) {
  std::vector<SlotDraw> draws(3);
  selector.DrawUniform(random, absl::MakeSpan(draws));
  return draws[2];
}

// Pearson's chi-square statistic of `draws` draws against their expected probabilities, which must
// sum to 1.
template <typename Draw>
double ChiSquare(const std::map<Position, double>& expected, int draws, const Draw& draw) {
  std::map<Position, int> counts;
  double sum = 0;
  for (const auto& [position, probability] : expected) sum += probability;
  EXPECT_NEAR(sum, 1, 1e-9);
  for (int i = 0; i < draws; ++i) {
    const SlotDraw drawn = draw();
    const auto found = expected.find({drawn.slot, drawn.position});
    if (found == expected.end()) {
      ADD_FAILURE() << drawn.slot << " " << drawn.position;
      return INFINITY;
    }
    EXPECT_NEAR(drawn.probability, found->second, 1e-7);
    ++counts[found->first];
  }
  double chi_square = 0;
  for (const auto& [position, probability] : expected) {
    const double mean = draws * probability;
    chi_square += (counts[position] - mean) * (counts[position] - mean) / mean;
  }
  return chi_square;
}

TEST(Selector, DrawsInProportionToThePowerOfThePriority) {
  Selector selector(0.5);
  selector.Add(0, {1, 4});
  selector.Add(3, {9});
  selector.Add(1, {16, 25, 1, 4});
  selector.Remove(0);
  selector.Add(0, {100, 0.25, 1});
  selector.SetPriority(3, 0, 49);
  selector.UpdateWeight(3);
  // The square roots of the priorities are 10, 0.5, 1; 4, 5, 1, 2; 7. Their sum is 30.5.
  std::map<Position, double> expected;
  for (const auto& [position, root] : std::vector<std::pair<Position, double>>{{{0, 0}, 10},
                                                                               {{0, 1}, 0.5},
                                                                               {{0, 2}, 1},
                                                                               {{1, 0}, 4},
                                                                               {{1, 1}, 5},
                                                                               {{1, 2}, 1},
                                                                               {{1, 3}, 2},
                                                                               {{3, 0}, 7}}) {
    expected[position] = root / 30.5;
  }
  EXPECT_NEAR(selector.total_weight(), 30.5, 1e-6);
  std::mt19937_64 random(3);
  // With 7 degrees of freedom the statistic is above 40.5 with a chance of 1 in a million.
  EXPECT_LT(ChiSquare(expected, 100000, [&] { return DrawPrioritized(selector, random); }), 40.5);
}

TEST(Selector, UniformDrawsTakeNoNoticeOfPriorities) {
  Selector selector(1);
  selector.Add(2, {1, 1000, 1});
  selector.Add(0, {5});
  selector.Add(7, {0, 0, 0, 0});
  std::map<Position, double> expected;
  for (const auto& [slot, count] : {std::pair<Slot, uint32_t>{2, 3}, {0, 1}, {7, 4}}) {
    for (uint32_t i = 0; i < count; ++i) expected[{slot, i}] = 1.0 / 8;
  }
  std::mt19937_64 random(4);
  EXPECT_LT(ChiSquare(expected, 80000, [&] { return DrawUniform(selector, random); }), 40.5);
}

TEST(Selector, NewItemsGetTheHighestPriority) {
  Selector selector(1);
  selector.AddNew(0, 2);
  EXPECT_EQ(selector.total_weight(), 2);
  selector.SetPriority(0, 1, 6);
  selector.UpdateWeight(0);
  selector.AddNew(1, 3);
  EXPECT_EQ(selector.total_weight(), 1 + 6 + 18);
  selector.Remove(0);
  selector.AddNew(2, 1);
  EXPECT_EQ(selector.total_weight(), 18 + 6);
  EXPECT_EQ(selector.MeanPriority(1), 6);
  EXPECT_EQ(selector.positions(), 4);
}

TEST(Selector, SurprisesOfLongAgoDoNotRaiseNewItems) {
  Selector selector(1);
  selector.AddNew(0, 2);
  selector.SetPriority(0, 1, 1000);
  for (int i = 0; i < 200'000; ++i) selector.SetPriority(0, 0, 0.5);
  selector.UpdateWeight(0);
  selector.AddNew(1, 1);
  EXPECT_NEAR(selector.MeanPriority(1), 0.5, 0.01);
}

TEST(Selector, NothingIsOutOfReachAndNothingOverflows) {
  Selector selector(1);
  selector.Add(0, {0, 3e38F});
  EXPECT_EQ(selector.total_weight(), static_cast<float>(kLeastPriority) + kHighestPriority);
  EXPECT_TRUE(std::isfinite(selector.total_weight()));
}

TEST(Selector, GrowsWithItsItems) {
  Selector selector(1);
  for (Slot slot = 0; slot < 5000; ++slot) selector.AddNew(slot, 1);
  for (Slot slot = 0; slot < 4999; ++slot) selector.Remove(slot);
  std::mt19937_64 random(5);
  EXPECT_EQ(selector.total_weight(), 1);
  EXPECT_EQ(DrawPrioritized(selector, random).slot, 4999);
  EXPECT_EQ(DrawUniform(selector, random).probability, 1);
}

TEST(BestGames, KeepsTheHighestReturnsOfEachProgram) {
  BestGames best(2);
  EXPECT_TRUE(best.Add(0, "a", 0.1, 4).is_best);
  EXPECT_TRUE(best.Add(1, "a", 0.3, 4).is_best);
  EXPECT_FALSE(best.Add(2, "a", 0.05, 4).is_best);
  const BestGames::Added added = best.Add(3, "a", 0.2, 4);
  EXPECT_TRUE(added.is_best);
  EXPECT_EQ(added.displaced, 0);
  EXPECT_TRUE(best.Add(4, "b", 0.01, 2).is_best);
  EXPECT_EQ(best.positions(), 10);
  // Each program has probability 1/2, divided among its games and their positions.
  std::map<Position, double> expected = {{{4, 0}, 0.25}, {{4, 1}, 0.25}};
  for (uint32_t i = 0; i < 4; ++i) expected[{1, i}] = expected[{3, i}] = 1.0 / 16;
  std::mt19937_64 random(6);
  EXPECT_LT(ChiSquare(expected, 80000, [&] { return best.Draw(random); }), 44.9);
}

TEST(BestGames, TheSameGameCountsOnce) {
  BestGames best(2);
  EXPECT_TRUE(best.Add(0, "a", 0.3, 4).is_best);
  EXPECT_FALSE(best.Add(1, "a", 0.3, 4).is_best);
  EXPECT_TRUE(best.Add(2, "a", 0.3, 5).is_best);
}

TEST(BestGames, ARemovedGameIsDrawnNoMore) {
  BestGames best(2);
  best.Add(0, "a", 0.3, 4);
  best.Add(1, "b", 0.1, 1);
  best.Add(2, "c", 0.1, 2);
  best.Remove(0, "a");
  EXPECT_EQ(best.positions(), 3);
  std::mt19937_64 random(7);
  for (int i = 0; i < 100; ++i) EXPECT_NE(best.Draw(random).slot, 0);
  EXPECT_TRUE(best.Add(3, "a", 0.01, 1).is_best);
}

TEST(BestGames, AProgramWithoutGamesLeavesTheOthersAlone) {
  BestGames best(2);
  best.Add(0, "a", 0.3, 4);
  best.Add(1, "b", 0.1, 1);
  best.Add(2, "c", 0.1, 2);
  best.Remove(0, "a");
  EXPECT_TRUE(best.Add(3, "c", 0.2, 5).is_best);
  EXPECT_EQ(best.positions(), 8);
  best.Remove(2, "c");
  best.Remove(3, "c");
  EXPECT_EQ(best.positions(), 1);
  std::mt19937_64 random(8);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(best.Draw(random).slot, 1);
}

}  // namespace
}  // namespace mallocmuzero
