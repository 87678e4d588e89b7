#include "learner/curriculum.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

ProgramStanding Standing(double best, double mean, double scale) {
  return {.best_return = HbmShare(best), .mean_return = HbmShare(mean), .scale = HbmShare(scale)};
}

TEST(Curriculum, PlaysProgramsByTheirRegret) {
  // The regrets are 3, 1 and 0. Each gets 0.2 / 3, and 0.8 is divided by 3 : 1 : 0.
  EXPECT_THAT(ProgramWeights(
                  {Standing(0.5, 0.2, 0.1), Standing(0.04, 0.03, 0.01), Standing(0.5, 0.6, 0.1)}),
              ElementsAre(DoubleNear(0.2 / 3 + 0.6, 1e-12), DoubleNear(0.2 / 3 + 0.2, 1e-12),
                          DoubleNear(0.2 / 3, 1e-12)));
}

TEST(Curriculum, AProgramWithoutGamesComesFirst) {
  // Both regrets are 10: the first would be 1e6, but 10 is the limit.
  EXPECT_THAT(ProgramWeights({Standing(1, 0, 1e-6), {}}),
              ElementsAre(DoubleNear(0.5, 1e-12), DoubleNear(0.5, 1e-12)));
}

TEST(Curriculum, WithoutRegretAllAreEqual) {
  EXPECT_THAT(ProgramWeights({Standing(0, 0, 1), Standing(0, 0, 1)}), ElementsAre(0.5, 0.5));
}

}  // namespace
}  // namespace mallocmuzero
