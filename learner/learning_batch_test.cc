#include "learner/learning_batch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "actor/game_recorder.h"
#include "actor/testing/recorded_game.h"
#include "env/players.h"
#include "env/program_set.h"
#include "env/testing/random_program_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using ::testing::FloatEq;
using ::testing::Pointwise;

constexpr size_t kBatches = 2;
constexpr BatchShape kShape = {.rows = 4, .imitated = 1, .importance_exponent = 1};

class LearningBatchTest : public ::testing::Test {
 protected:
  LearningBatchTest() {
    const PlayedProgram& program = programs_[0];
    game_ = std::make_shared<const v1::Trajectory>(
        testing::RecordedGame(program, Player(PlayerKind::kRandom, 1), TrajectoryId(1, 2, 3)));
    baselines_.emplace(program.sha256(), ReturnBaseline(program.rules().access_count()));
  }

  // Positions 0, 1, 2 are drawn by priority for the first batch and 3, 4, 5 for the second, from
  // ten positions, with probabilities of 0.1 to 0.6. Both batches imitate position 0.
  DrawnRows Rows() const {
    DrawnRows rows = {.positions = 10};
    for (uint32_t i = 0; i < kBatches * kShape.prioritized(); ++i) {
      rows.drawn.push_back(
          {.trajectory = game_, .position = i, .probability = 0.1 * (i + 1), .serial = 7});
    }
    rows.imitated.assign(kBatches, {.trajectory = game_});
    return rows;
  }

  std::vector<LearningBatch> Make() const {
    const BatchMaker maker(programs_, baselines_, options_, 1);
    return *MakeBatches(maker, kShape, kBatches, Rows(), std::make_shared<UnrollBatch>());
  }

  static std::vector<float> Weights(const LearningBatch& batch) {
    const auto first = batch.block->weights.begin() + batch.first;
    return {first, first + batch.rows};
  }

  const ProgramSet programs_ = testing::RandomProgramSet(11, 1);
  SharedTrajectory game_;
  Baselines baselines_;
  v1::LearnerOptions options_;
};

TEST_F(LearningBatchTest, PrioritizedRowsComeFirstInEachBatch) {
  const std::vector<LearningBatch> batches = Make();
  ASSERT_EQ(batches.size(), kBatches);
  for (size_t b = 0; b < kBatches; ++b) {
    ASSERT_EQ(batches[b].prioritized.size(), 3);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(batches[b].prioritized[i].serial, 7);
      EXPECT_EQ(batches[b].prioritized[i].position, 3 * b + i);
    }
    // The policy of the imitated row is the action that was taken.
    const float* policy = &batches[b].block->policies[(batches[b].first + 3) * kActionCount];
    EXPECT_EQ(policy[static_cast<uint8_t>(game_->actions()[0])], 1);
  }
}

TEST_F(LearningBatchTest, WeightsAreThoseOfEachBatchByItself) {
  const std::vector<LearningBatch> batches = Make();
  // 1 / (10 x probability), and the mean of the three.
  const std::vector<float> expected = {1, 1 / 2.0F, 1 / 3.0F, 11 / 18.0F};
  EXPECT_THAT(Weights(batches[0]), Pointwise(FloatEq(), expected));
  EXPECT_FLOAT_EQ(batches[0].LargestWeight(), 1);
  EXPECT_FLOAT_EQ(batches[1].LargestWeight(), 0.25);
}

TEST_F(LearningBatchTest, ABatchThatIsTriedAgainIsDividedAnew) {
  LearningBatch batch = Make()[0];
  batch.DivideWeightsBy(4);
  EXPECT_FLOAT_EQ(Weights(batch)[0], 0.25);
  EXPECT_FLOAT_EQ(batch.LargestWeight(), 1);
  batch.DivideWeightsBy(2);
  EXPECT_FLOAT_EQ(Weights(batch)[0], 0.5);
  EXPECT_FLOAT_EQ(Weights(batch)[3], 11 / 36.0F);
}

TEST_F(LearningBatchTest, AnUpdateWeighsNoRowMoreThanOne) {
  const v1::NetworkConfig config = *NetworkPreset("tiny");
  const std::unique_ptr<Network> network = *Network::Create(config, 1);
  options_.set_batch_size(kShape.rows);
  options_.set_samples_per_insert(1);
  options_.set_learning_rate(1e-3F);
  options_.set_max_gradient_norm(1);
  const auto learner = Learner::Create(*network, options_, Device::kCpu);
  ASSERT_TRUE(learner.ok()) << learner.status();
  LearningBatch batch = Make()[1];
  const auto result = UpdateFrom(batch, batch.LargestWeight(), **learner, nullptr);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ((*learner)->step(), 1);
  EXPECT_EQ(result->value_errors.size(), kShape.rows);
  const std::vector<float> weights = Weights(batch);
  EXPECT_FLOAT_EQ(*std::max_element(weights.begin(), weights.end()), 1);
}

}  // namespace
}  // namespace mallocmuzero
