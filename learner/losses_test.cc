// Tests of what an update tells of its losses, and of what the weights of rows do.

#include <algorithm>
#include <cmath>

#include "env/action.h"
#include "gtest/gtest.h"
#include "learner/learner.h"
#include "learner/testing/small_learner.h"
#include "model/network.h"
#include "model/value_codec.h"

namespace mallocmuzero {
namespace {

using testing::ConsistentOptions;
using testing::MakeLearnableBatch;
using testing::MakeSmallLearner;
using testing::SmallLearner;
using testing::SmallOptions;

TEST(Losses, AreToldWithoutTheirWeightsAndTheirSumWithThem) {
  v1::LearnerOptions options = SmallOptions();
  options.set_value_weight(0.25F);
  options.set_reward_weight(3);
  const SmallLearner fresh = MakeSmallLearner(options);
  const UpdateResult result = fresh.learner->Update(MakeLearnableBatch(1), 0, 16).value();
  // A fresh network gives each bin the same probability, at three values and two rewards.
  const double bins = fresh.network->config().bins();
  EXPECT_NEAR(result.value_loss, 2 * std::log(bins), 0.1);
  EXPECT_NEAR(result.reward_loss, std::log(bins), 0.1);
  EXPECT_NEAR(result.total_loss,
              result.policy_loss + 0.25 * result.value_loss + 3 * result.reward_loss, 1e-4);
}

// A fresh network gives each of three actions 1/3, so that a step with a target has a loss of
// log 3.
TEST(Losses, AreMeansOfTheRowsByTheirWeightsAndAStepIsAShareOfTheUnroll) {
  UnrollBatch batch = MakeLearnableBatch(1);
  std::fill(batch.weights.begin() + 1, batch.weights.end(), 0.25F);
  // (1 + 15 x 1/4) / 16 of log 3 + 2 x log 3 / 2.
  EXPECT_NEAR(MakeSmallLearner().learner->Update(batch, 0, 16).value().policy_loss,
              0.296875 * 2 * std::log(3.0), 1e-5);
  // Only the second step of row 0 has a target: 1/2 of log 3 in one of 16 rows.
  std::fill(batch.policies.begin(), batch.policies.end(), 0.0F);
  batch.policies[2 * kActionCount] = 1;
  EXPECT_NEAR(MakeSmallLearner().learner->Update(batch, 0, 16).value().policy_loss,
              std::log(3.0) / 2 / 16, 1e-6);
}

TEST(Losses, NoErrorIsLargerThanANetworkCouldMend) {
  UnrollBatch batch = MakeLearnableBatch(1);
  for (float& value : batch.values) value = 1e5F;
  const SmallLearner trained = MakeSmallLearner();
  const ValueCodec codec(trained.network->config());
  const UpdateResult result = trained.learner->Update(batch, 0, 16).value();
  for (const float e : result.value_errors) {
    EXPECT_LE(e, 2 * codec.FromScale(codec.limit()));
  }
}

TEST(Losses, RowsWithoutWeightTeachNothing) {
  SmallLearner trained = MakeSmallLearner();
  UnrollBatch batch = MakeLearnableBatch(1);
  batch.weights.assign(16, 0);
  const UpdateResult result = trained.learner->Update(batch, 0, 16).value();
  EXPECT_EQ(result.total_loss, 0);
  EXPECT_EQ(result.gradient_norm, 0);
}

// The losses and their gradient are proportional to the weights.
TEST(Losses, RowsOfHalfTheWeightTeachHalfAsMuch) {
  UnrollBatch batch = MakeLearnableBatch(1);
  const UpdateResult whole =
      MakeSmallLearner(ConsistentOptions()).learner->Update(batch, 0, 16).value();
  batch.weights.assign(16, 0.5F);
  const UpdateResult half =
      MakeSmallLearner(ConsistentOptions()).learner->Update(batch, 0, 16).value();
  for (const auto loss : {&UpdateResult::total_loss, &UpdateResult::policy_loss,
                          &UpdateResult::value_loss, &UpdateResult::reward_loss}) {
    EXPECT_NEAR(half.*loss, whole.*loss / 2, 1e-5 * whole.*loss);
  }
  EXPECT_NEAR(*half.consistency_loss, *whole.consistency_loss / 2, 1e-5);
  EXPECT_NEAR(half.gradient_norm, whole.gradient_norm / 2, 1e-4 * whole.gradient_norm);
  EXPECT_EQ(half.value_errors, whole.value_errors);
}

// A fresh network says about 0 of every position.
TEST(Losses, TheErrorOfARowIsThatOfItsFirstValue) {
  UnrollBatch batch = MakeLearnableBatch(1);
  for (size_t i = 0; i < batch.values.size(); ++i) batch.values[i] = i % 3 == 0 ? -1.0F : 3.0F;
  const UpdateResult result = MakeSmallLearner().learner->Update(batch, 0, 16).value();
  EXPECT_EQ(result.value_errors.size(), 16);
  for (const float error : result.value_errors) EXPECT_NEAR(error, 1, 0.2);
}

}  // namespace
}  // namespace mallocmuzero
