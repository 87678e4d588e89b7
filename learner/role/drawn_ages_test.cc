#include "learner/role/drawn_ages.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/replay_sampler.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;

DrawnPosition DrawnFrom(uint64_t network_step,
                        v1::Trajectory::Source source = v1::Trajectory::SELF_PLAY) {
  v1::Trajectory game;
  game.set_network_step(network_step);
  game.set_source(source);
  return {.trajectory = std::make_shared<const v1::Trajectory>(game)};
}

TEST(DrawnAges, CountsUpdatesSinceTheWeightsOfEachGame) {
  DrawnAges ages;
  ages.Add(std::vector<DrawnPosition>{DrawnFrom(1000), DrawnFrom(990), DrawnFrom(989)}, 1000);
  ages.Add(std::vector<DrawnPosition>{DrawnFrom(0)}, 1'000'000);
  EXPECT_EQ(ages.positions(), 4);
  EXPECT_EQ(ages.sum(), 0 + 10 + 11 + 1'000'000);
  EXPECT_THAT(ages.buckets(), ElementsAre(1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1));
}

TEST(DrawnAges, WeightsThatALostLearnerWasAheadByAreNoAge) {
  DrawnAges ages;
  ages.Add(std::vector<DrawnPosition>{DrawnFrom(500)}, 400);
  EXPECT_EQ(ages.sum(), 0);
  EXPECT_EQ(ages.buckets()[0], 1);
}

TEST(DrawnAges, DemonstrationsHaveNone) {
  DrawnAges ages;
  ages.Add(std::vector<DrawnPosition>{DrawnFrom(0, v1::Trajectory::DEMONSTRATION)}, 400);
  EXPECT_EQ(ages.positions(), 0);
}

}  // namespace
}  // namespace mallocmuzero
