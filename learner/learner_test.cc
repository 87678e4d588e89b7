#include "learner/learner.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "env/action.h"
#include "env/observation_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network.h"
#include "model/network_config.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

v1::LearnerOptions Options() {
  v1::LearnerOptions options;
  options.set_batch_size(16);
  options.set_unroll_steps(2);
  options.set_samples_per_insert(1);
  options.set_learning_rate(2e-3F);
  options.set_weight_decay(1e-4F);
  options.set_warmup_updates(4);
  options.set_max_gradient_norm(5);
  options.set_value_weight(1);
  options.set_reward_weight(1);
  return options;
}

// Rows whose best action and value are written in the first floats of what is observed.
UnrollBatch MakeBatch(uint64_t seed, size_t rows = 16) {
  UnrollBatch batch;
  batch.Resize(rows, 2);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> unit(-1, 1);
  for (float& x : batch.observations) x = 0.1F * unit(random);
  for (size_t i = 0; i < rows; ++i) {
    const auto best = static_cast<int>(random() % kActionCount);
    const float value = unit(random);
    float* decision = &batch.observations[i * kObservationSize + observation::kDecisionOffset];
    decision[best] = 1;
    decision[3] = value;
    for (int k = 0; k < 3; ++k) {
      batch.policies[(3 * i + k) * kActionCount + best] = 1;
      batch.values[3 * i + k] = value;
    }
    for (int k = 0; k < 2; ++k) {
      batch.actions[2 * i + k] = static_cast<int64_t>(random() % kActionCount);
      batch.rewards[2 * i + k] = batch.actions[2 * i + k] == best ? 0.5F : -0.5F;
    }
  }
  return batch;
}

struct Trained {
  std::unique_ptr<Network> network;
  std::unique_ptr<Learner> learner;
};

Trained MakeLearner(const v1::LearnerOptions& options = Options()) {
  SetComputeThreads(1);
  Trained trained;
  trained.network = *Network::Create(*NetworkPreset("tiny"), 1);
  trained.learner = *Learner::Create(*trained.network, options, Device::kCpu);
  return trained;
}

std::string WeightBytes(const Network& network) {
  std::string bytes;
  for (const NamedTensor& tensor : network.ExportWeights()) bytes += tensor.bytes;
  return bytes;
}

TEST(Learner, LearnsPolicyValueAndReward) {
  Trained trained = MakeLearner();
  const UnrollBatch batch = MakeBatch(1);
  const UpdateResult first = trained.learner->Update(batch, 0, 16);
  UpdateResult last;
  for (int i = 0; i < 150; ++i) last = trained.learner->Update(batch, 0, 16);
  // A fresh network says 1/3 for each action at all three steps: log 3 + 2 x log 3 / 2.
  EXPECT_NEAR(first.policy_loss, 2 * std::log(3.0), 0.05);
  EXPECT_LT(last.policy_loss, 0.2 * first.policy_loss);
  EXPECT_LT(last.value_loss, 0.5 * first.value_loss);
  EXPECT_LT(last.reward_loss, 0.5 * first.reward_loss);
  float error = 0;
  for (const float e : last.value_errors) error += e / 16;
  EXPECT_LT(error, 0.2);
}

TEST(Learner, WarmsUp) {
  Trained trained = MakeLearner();
  const UnrollBatch batch = MakeBatch(1);
  EXPECT_FLOAT_EQ(trained.learner->Update(batch, 0, 16).learning_rate, 0.5e-3F);
  for (int i = 0; i < 2; ++i) trained.learner->Update(batch, 0, 16);
  EXPECT_FLOAT_EQ(trained.learner->Update(batch, 0, 16).learning_rate, 2e-3F);
  EXPECT_FLOAT_EQ(trained.learner->Update(batch, 0, 16).learning_rate, 2e-3F);
}

TEST(Learner, RowsWithoutWeightTeachNothing) {
  Trained trained = MakeLearner();
  UnrollBatch batch = MakeBatch(1);
  batch.weights.assign(16, 0);
  const UpdateResult result = trained.learner->Update(batch, 0, 16);
  EXPECT_EQ(result.total_loss, 0);
  EXPECT_EQ(result.gradient_norm, 0);
}

TEST(Learner, TakesTheRowsItIsGiven) {
  Trained a = MakeLearner();
  Trained b = MakeLearner();
  const UnrollBatch both = MakeBatch(1, 32);
  a.learner->Update(both, 16, 16);
  UnrollBatch second;
  second.Resize(16, 2);
  second.observations.assign(both.observations.begin() + 16 * kObservationSize,
                             both.observations.end());
  second.actions.assign(both.actions.begin() + 32, both.actions.end());
  second.rewards.assign(both.rewards.begin() + 32, both.rewards.end());
  second.values.assign(both.values.begin() + 48, both.values.end());
  second.policies.assign(both.policies.begin() + 144, both.policies.end());
  b.learner->Update(second, 0, 16);
  EXPECT_EQ(WeightBytes(*a.network), WeightBytes(*b.network));
}

TEST(Learner, TheSameUpdatesGiveTheSameWeights) {
  Trained a = MakeLearner();
  Trained b = MakeLearner();
  for (int i = 0; i < 5; ++i) {
    a.learner->Update(MakeBatch(i), 0, 16);
    b.learner->Update(MakeBatch(i), 0, 16);
  }
  EXPECT_EQ(WeightBytes(*a.network), WeightBytes(*b.network));
}

TEST(Learner, GoesOnFromExportedStateAsIfNotStopped) {
  Trained a = MakeLearner();
  for (int i = 0; i < 3; ++i) a.learner->Update(MakeBatch(i), 0, 16);
  Trained b = MakeLearner();
  ASSERT_TRUE(b.network->ImportWeights(a.network->ExportWeights()).ok());
  ASSERT_TRUE(b.learner->ImportOptimizer(a.learner->ExportOptimizer(), a.learner->step()).ok());
  for (Trained* one : {&a, &b}) {
    for (int i = 3; i < 6; ++i) one->learner->Update(MakeBatch(i), 0, 16);
  }
  EXPECT_EQ(WeightBytes(*a.network), WeightBytes(*b.network));
  EXPECT_EQ(a.learner->step(), b.learner->step());
}

TEST(Learner, RefusesAnOptimizerOfOtherNetworks) {
  Trained a = MakeLearner();
  a.learner->Update(MakeBatch(1), 0, 16);
  std::vector<NamedTensor> state = a.learner->ExportOptimizer();
  state.pop_back();
  EXPECT_THAT(a.learner->ImportOptimizer(state, 1).message(), HasSubstr("optimizer/"));
}

TEST(Learner, NamesAnOptionThatIsOutOfRange) {
  v1::LearnerOptions options = Options();
  options.set_learning_rate(0);
  EXPECT_THAT(CheckLearnerOptions(options).message(), HasSubstr("learner.learning_rate"));
  options = Options();
  options.set_best_share(1.5F);
  EXPECT_THAT(CheckLearnerOptions(options).message(), HasSubstr("learner.best_share"));
}

}  // namespace
}  // namespace mallocmuzero
