#include "simulator/import/latency/savings_fit.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/testing/index_matching.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "simulator/core/latency_table.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

double SavingOf(const Savings& savings, uint64_t set) {
  double sum = 0;
  for (size_t k = 0; k < savings.of_one.size(); ++k) {
    if ((set >> k & 1) == 0) continue;
    sum += savings.of_one[k];
    for (size_t j = 0; j < k && !savings.of_pairs.empty(); ++j) {
      if (set >> j & 1) sum += savings.of_pairs[PairIndex(j, k)];
    }
  }
  return sum;
}

const std::vector<double> kThreeAlike = {100, 100, 100};

TEST(SavingsFit, WithoutAnythingSeenItIsWhatIsExpected) {
  const Savings savings = FitSavings({}, {1, 2, 3}, kThreeAlike);
  EXPECT_THAT(savings.of_one, ElementsAre(1, 2, 3));
  EXPECT_THAT(savings.of_pairs, IsEmpty());
}

TEST(SavingsFit, WithoutAccessesThereIsNothingToSave) {
  const Savings savings = FitSavings({{0, 0}}, {}, {});
  EXPECT_THAT(savings.of_one, IsEmpty());
  EXPECT_THAT(savings.of_pairs, IsEmpty());
}

TEST(SavingsFit, WhatIsAsExpectedChangesNothing) {
  const Savings savings = FitSavings({{0b011, 30}, {0b110, 50}}, {10, 20, 30}, kThreeAlike);
  EXPECT_THAT(savings.of_one, ElementsAre(10, 20, 30));
  EXPECT_THAT(savings.of_pairs, IsEmpty());
}

TEST(SavingsFit, SetsSeenAreMet) {
  const std::vector<SeenSaving> seen = {{0b001, 10}, {0b011, 40}, {0b110, 35}, {0b111, 60}};
  const Savings savings = FitSavings(seen, {20, 20, 20}, kThreeAlike);
  for (const SeenSaving& saving : seen) {
    EXPECT_NEAR(SavingOf(savings, saving.set), saving.cycles, 0.1);
  }
}

// Savings of a fusion whose second operand is hidden behind the first.
TEST(SavingsFit, LearnsThatOneOfTwoIsEnough) {
  const Savings savings =
      FitSavings({{0b001, 30}, {0b010, 30}, {0b011, 30}, {0b100, 20}}, {20, 20, 20}, kThreeAlike);
  EXPECT_NEAR(SavingOf(savings, 0b101), 50, 1);
  EXPECT_NEAR(SavingOf(savings, 0b110), 50, 1);
  // The sum without pairs would be 30 + 30 + 20.
  EXPECT_NEAR(SavingOf(savings, 0b111), 50, 1);
}

TEST(SavingsFit, WhatMovesMuchExplainsMore) {
  const Savings savings = FitSavings({{0b11, 100}}, {0, 0}, {1e6, 1e2});
  EXPECT_GT(savings.of_one[0], 50);
  EXPECT_LT(savings.of_one[1], 1);
  EXPECT_NEAR(SavingOf(savings, 0b11), 100, 0.1);
}

TEST(SavingsFit, WhatMovesNothingCanStillExplain) {
  const Savings savings = FitSavings({{0b01, 7}, {0b10, 9}}, {0, 0}, {0, 0});
  EXPECT_NEAR(savings.of_one[0], 7, 0.1);
  EXPECT_NEAR(savings.of_one[1], 9, 0.1);
}

TEST(SavingsFit, SixtyFourAccessesAreNotTooMany) {
  std::vector<SeenSaving> seen;
  for (int k = 0; k < 64; ++k) seen.push_back({~uint64_t{0} >> k, 64.0 - k});
  const std::vector<double> ones(64, 1);
  const Savings savings = FitSavings(seen, std::vector<double>(64, 0.5), ones);
  for (const SeenSaving& saving : seen) {
    EXPECT_NEAR(SavingOf(savings, saving.set), saving.cycles, 0.5);
  }
}

}  // namespace
}  // namespace mallocmuzero
