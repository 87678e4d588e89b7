#include "learner/curriculum.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(Curriculum, PlaysProgramsByTheirRegret) {
  // The regrets are 3, 1 and 0. Each gets 0.2 / 3, and 0.8 is divided by 3 : 1 : 0.
  EXPECT_THAT(ProgramWeights({{.best_return = 0.5, .mean_return = 0.2, .scale = 0.1},
                              {.best_return = 0.04, .mean_return = 0.03, .scale = 0.01},
                              {.best_return = 0.5, .mean_return = 0.6, .scale = 0.1}}),
              ElementsAre(DoubleNear(0.2 / 3 + 0.6, 1e-12), DoubleNear(0.2 / 3 + 0.2, 1e-12),
                          DoubleNear(0.2 / 3, 1e-12)));
}

TEST(Curriculum, AProgramWithoutGamesComesFirst) {
  // Both regrets are 10: the first would be 1e6, but 10 is the limit.
  EXPECT_THAT(ProgramWeights({{.best_return = 1, .mean_return = 0, .scale = 1e-6}, {}}),
              ElementsAre(DoubleNear(0.5, 1e-12), DoubleNear(0.5, 1e-12)));
}

TEST(Curriculum, WithoutRegretAllAreEqual) {
  EXPECT_THAT(ProgramWeights({{.mean_return = 0}, {.mean_return = 0}}), ElementsAre(0.5, 0.5));
}

}  // namespace
}  // namespace mallocmuzero
