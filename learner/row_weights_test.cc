#include "learner/row_weights.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(RowWeights, CorrectWhatPrioritiesDistort) {
  // 1 / (10 x 0.1), 1 / (10 x 0.2) and 1 / (10 x 0.4).
  EXPECT_THAT(RowWeights({0.1, 0.2, 0.4}, 0, 10, 1), ElementsAre(1, 0.5, 0.25));
  EXPECT_THAT(RowWeights({0.1, 0.2, 0.4}, 0, 10, 0), Each(1));
}

TEST(RowWeights, ImitatedRowsHaveTheShareOfTheWeightThatTheyHaveOfTheRows) {
  const std::vector<float> weights = RowWeights({0.1, 0.4, 0.4}, 1, 10, 1);
  // 1, 0.25, 0.25 and their mean: a quarter of the rows, a quarter of the weight.
  EXPECT_THAT(weights, ElementsAre(1, 0.25, 0.25, 0.5));
  EXPECT_THAT(RowWeights({}, 3, 10, 0.4), ElementsAre(1, 1, 1));
}

TEST(RowWeights, AreFiniteWhereAShardSaysThatADrawWasImpossible) {
  for (const float weight : RowWeights({0, 0.5}, 1, 0, 0.4)) {
    EXPECT_TRUE(std::isfinite(weight));
    EXPECT_GT(weight, 0);
  }
}

TEST(DivideWeights, DividesImitatedRowsToo) {
  std::vector<float> weights = {2, 1, 1.5};
  DivideWeights(2, absl::MakeSpan(weights));
  EXPECT_THAT(weights, ElementsAre(1, 0.5, 0.75));
}

}  // namespace
}  // namespace mallocmuzero
