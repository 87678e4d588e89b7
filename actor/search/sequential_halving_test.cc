#include "actor/search/sequential_halving.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<float> Row(uint32_t considered, uint32_t simulations) {
  const ConsideredVisits visits(considered, simulations);
  return {visits.Row(considered), visits.Row(considered) + simulations};
}

// 16 simulations over 2 phases: 16 / (2 * 4) = 2 visits for each of four, then 4 for each of two.
TEST(ConsideredVisits, HalvesTheActions) {
  EXPECT_THAT(Row(4, 16), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5));
}

// Three actions need 2 phases: 16 / (2 * 3) = 2 visits each, then 16 / (2 * 2) = 4 and again 4 for
// two, until the simulations are spent.
TEST(ConsideredVisits, RoundsPhasesUpAndVisitsDown) {
  EXPECT_THAT(Row(3, 16), ElementsAre(0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6));
}

// Half of five is two. 12 / (3 * 5) rounds down to no visit and one is the least; 12 / (3 * 2) = 2.
TEST(ConsideredVisits, HalvesOddNumbersDown) {
  EXPECT_THAT(Row(5, 12), ElementsAre(0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4));
}

TEST(ConsideredVisits, StopsWhenSimulationsAreSpent) {
  EXPECT_THAT(Row(8, 5), Each(0));
  EXPECT_THAT(Row(2, 3), ElementsAre(0, 0, 1));
}

TEST(ConsideredVisits, GivesASingleActionEveryTurn) {
  EXPECT_THAT(Row(1, 4), ElementsAre(0, 1, 2, 3));
}

TEST(ConsideredVisits, ConsidersNoMoreThanTheMaximum) {
  const ConsideredVisits visits(2, 4);
  EXPECT_EQ(visits.Row(7), visits.Row(2));
  EXPECT_NE(visits.Row(1), visits.Row(2));
}

}  // namespace
}  // namespace mallocmuzero
