#include "learner/learner.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "env/action.h"
#include "env/observation_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network.h"
#include "model/network_config.h"
#include "model/value_codec.h"

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

// Rows whose best action and value are in the first floats of the observation.
UnrollBatch MakeBatch(uint64_t seed, size_t rows = 16) {
  UnrollBatch batch;
  batch.Resize(rows, 2, /*with_next=*/true);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> unit(-1, 1);
  for (float& x : batch.observations) x = 0.1F * unit(random);
  for (size_t i = 0; i < rows; ++i) {
    const int best = random() % kActionCount;
    const float value = unit(random);
    float* decision = &batch.observations[i * kObservationSize + observation::kDecisionOffset];
    decision[best] = 1;
    decision[3] = value;
    for (int k = 0; k < 3; ++k) {
      batch.policies[(3 * i + k) * kActionCount + best] = 1;
      batch.values[3 * i + k] = value;
    }
    for (int k = 0; k < 2; ++k) {
      batch.actions[2 * i + k] = random() % kActionCount;
      batch.rewards[2 * i + k] = batch.actions[2 * i + k] == best ? 0.5F : -0.5F;
      // The observation of the reached position contains the action that led there. Every fourth
      // game ends before the second step.
      const size_t step = 2 * i + k;
      float* next = &batch.next_observations[step * kObservationSize];
      std::copy_n(&batch.observations[i * kObservationSize], kObservationSize, next);
      next[observation::kActionsOffset + batch.actions[step]] = 1;
      batch.reached[step] = k == 0 || i % 4 != 0 ? 1.0F : 0.0F;
    }
  }
  return batch;
}

v1::LearnerOptions Consistent() {
  v1::LearnerOptions options = Options();
  options.set_consistency_weight(1);
  return options;
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
  // A fresh network gives each action 1/3 at all three steps: log 3 + 2 x log 3 / 2.
  EXPECT_NEAR(first.policy_loss, 2 * std::log(3.0), 0.05);
  EXPECT_LT(last.policy_loss, 0.2 * first.policy_loss);
  EXPECT_LT(last.value_loss, 0.5 * first.value_loss);
  EXPECT_LT(last.reward_loss, 0.5 * first.reward_loss);
  float error = 0;
  for (const float e : last.value_errors) error += e / 16;
  EXPECT_LT(error, 0.2);
}

TEST(Learner, NoErrorIsLargerThanANetworkCouldMend) {
  UnrollBatch batch = MakeBatch(1);
  for (float& value : batch.values) value = 1e5F;
  const Trained trained = MakeLearner();
  const ValueCodec codec(trained.network->config());
  for (const float e : trained.learner->Update(batch, 0, 16).value_errors) {
    EXPECT_LE(e, 2 * codec.FromScale(codec.limit()));
  }
}

TEST(Learner, WarmsUp) {
  Trained trained = MakeLearner();
  const UnrollBatch batch = MakeBatch(1);
  EXPECT_FLOAT_EQ(trained.learner->Update(batch, 0, 16).learning_rate, 0.5e-3F);
  for (int i = 0; i < 2; ++i) trained.learner->Update(batch, 0, 16);
  EXPECT_FLOAT_EQ(trained.learner->Update(batch, 0, 16).learning_rate, 2e-3F);
  EXPECT_FLOAT_EQ(trained.learner->Update(batch, 0, 16).learning_rate, 2e-3F);
}

TEST(LearningRate, FallsToAHundredthAndStaysThere) {
  v1::LearnerOptions options;
  options.set_learning_rate(1);
  options.set_warmup_updates(10);
  EXPECT_DOUBLE_EQ(LearningRate(options, 1'000'000), 1);
  options.set_decay_updates(1000);
  EXPECT_NEAR(LearningRate(options, 0), 0.1, 1e-6);
  EXPECT_NEAR(LearningRate(options, 500), 0.505, 1e-6);
  EXPECT_NEAR(LearningRate(options, 1000), 0.01, 1e-6);
  EXPECT_NEAR(LearningRate(options, 1'000'000), 0.01, 1e-6);
  for (uint64_t step = 10; step < 1000; ++step) {
    EXPECT_GT(LearningRate(options, step), LearningRate(options, step + 1));
  }
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
  for (const v1::LearnerOptions& options : {Options(), Consistent()}) {
    Trained a = MakeLearner(options);
    for (int i = 0; i < 3; ++i) a.learner->Update(MakeBatch(i), 0, 16);
    Trained b = MakeLearner(options);
    ASSERT_TRUE(b.network->ImportWeights(a.network->ExportWeights()).ok());
    ASSERT_TRUE(b.learner->ImportOptimizer(a.learner->ExportOptimizer(), a.learner->step()).ok());
    for (Trained* one : {&a, &b}) {
      for (int i = 3; i < 6; ++i) one->learner->Update(MakeBatch(i), 0, 16);
    }
    EXPECT_EQ(WeightBytes(*a.network), WeightBytes(*b.network));
    EXPECT_EQ(a.learner->step(), b.learner->step());
  }
}

TEST(Learner, LearnsWhatTheDynamicsReach) {
  v1::LearnerOptions options = Consistent();
  options.set_value_weight(0);
  options.set_reward_weight(0);
  options.set_weight_decay(0);
  Trained trained = MakeLearner(options);
  UnrollBatch batch = MakeBatch(1);
  batch.policies.assign(batch.policies.size(), 0);
  const std::vector<NamedTensor> before = trained.network->ExportWeights();
  const UpdateResult first = trained.learner->Update(batch, 0, 16);
  ASSERT_TRUE(first.consistency_loss.has_value());
  EXPECT_FLOAT_EQ(first.total_loss, *first.consistency_loss);
  UpdateResult last;
  for (int i = 0; i < 100; ++i) last = trained.learner->Update(batch, 0, 16);
  EXPECT_LT(*last.consistency_loss, *first.consistency_loss - 0.3);
  EXPECT_GE(*last.consistency_loss, -1.0001);
  const std::vector<NamedTensor> after = trained.network->ExportWeights();
  for (size_t t = 0; t < after.size(); ++t) {
    const bool taught = !absl::StartsWith(after[t].name, "prediction.") &&
                        !absl::StartsWith(after[t].name, "dynamics.reward");
    EXPECT_EQ(after[t].bytes != before[t].bytes, taught) << after[t].name;
  }
}

TEST(Learner, StepsBehindTheEndAreNotCompared) {
  UnrollBatch batch = MakeBatch(1);
  Trained a = MakeLearner(Consistent());
  a.learner->Update(batch, 0, 16);
  // Row 4's game ends before its second step.
  float* behind = &batch.next_observations[9 * kObservationSize];
  std::fill_n(behind, kObservationSize, 0.5F);
  Trained b = MakeLearner(Consistent());
  b.learner->Update(batch, 0, 16);
  EXPECT_EQ(WeightBytes(*a.network), WeightBytes(*b.network));
  batch.reached.assign(batch.reached.size(), 0);
  EXPECT_EQ(*MakeLearner(Consistent()).learner->Update(batch, 0, 16).consistency_loss, 0);
}

TEST(Learner, TakesUpConsistencyInARunThatBeganWithout) {
  Trained a = MakeLearner();
  a.learner->Update(MakeBatch(0), 0, 16);
  EXPECT_FALSE(a.learner->Update(MakeBatch(1), 0, 16).consistency_loss.has_value());
  Trained b = MakeLearner(Consistent());
  ASSERT_TRUE(b.network->ImportWeights(a.network->ExportWeights()).ok());
  ASSERT_TRUE(b.learner->ImportOptimizer(a.learner->ExportOptimizer(), a.learner->step()).ok());
  EXPECT_TRUE(b.learner->Update(MakeBatch(2), 0, 16).consistency_loss.has_value());
  // The other direction works too.
  ASSERT_TRUE(a.network->ImportWeights(b.network->ExportWeights()).ok());
  ASSERT_TRUE(a.learner->ImportOptimizer(b.learner->ExportOptimizer(), b.learner->step()).ok());
  EXPECT_FALSE(a.learner->Update(MakeBatch(3), 0, 16).consistency_loss.has_value());
}

TEST(Learner, MixedPrecisionLearnsNearlyTheSame) {
  v1::LearnerOptions options = Consistent();
  options.set_mixed_precision(true);
  Trained mixed = MakeLearner(options);
  Trained full = MakeLearner(Consistent());
  const UnrollBatch batch = MakeBatch(1);
  UpdateResult said, expected, first;
  for (int i = 0; i < 60; ++i) {
    said = mixed.learner->Update(batch, 0, 16);
    expected = full.learner->Update(batch, 0, 16);
    ASSERT_TRUE(std::isfinite(said.total_loss) && std::isfinite(said.gradient_norm)) << i;
    if (i < 3) {
      // bfloat16 has 8 binary digits.
      EXPECT_NEAR(said.total_loss, expected.total_loss, 0.02 * expected.total_loss);
      EXPECT_NEAR(said.gradient_norm, expected.gradient_norm, 0.05 * expected.gradient_norm);
    }
    if (i == 0) first = said;
  }
  EXPECT_LT(said.policy_loss, 0.5 * first.policy_loss);
  EXPECT_NEAR(said.policy_loss, expected.policy_loss, 0.2 * first.policy_loss);
  // Mixed precision was on, since the weights differ; they are still float32, since they have the
  // same size.
  EXPECT_NE(WeightBytes(*mixed.network), WeightBytes(*full.network));
  EXPECT_EQ(WeightBytes(*mixed.network).size(), WeightBytes(*full.network).size());
}

TEST(Learner, MixedPrecisionEndsWithTheUpdateHoweverThatEnds) {
  v1::LearnerOptions options = Options();
  options.set_mixed_precision(true);
  const auto updated = [](const v1::LearnerOptions& with) {
    Trained trained = MakeLearner(with);
    trained.learner->Update(MakeBatch(1), 0, 16);
    return WeightBytes(*trained.network);
  };
  const std::string expected = updated(Options());
  EXPECT_NE(updated(options), expected);
  EXPECT_EQ(updated(Options()), expected);
  UnrollBatch wrong = MakeBatch(1);
  wrong.actions[0] = 7;  // there is no such action
  EXPECT_ANY_THROW(MakeLearner(options).learner->Update(wrong, 0, 16));
  EXPECT_EQ(updated(Options()), expected);
}

TEST(Learner, GoesOnAfterUpdatesThatWereAllNaN) {
  Trained a = MakeLearner();
  UnrollBatch broken = MakeBatch(1);
  for (float& weight : broken.weights) weight = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::isnan(a.learner->Update(broken, 0, 16).gradient_norm));
  }
  Trained b = MakeLearner();
  const absl::Status imported =
      b.learner->ImportOptimizer(a.learner->ExportOptimizer(), a.learner->step());
  ASSERT_TRUE(imported.ok()) << imported;
  EXPECT_EQ(b.learner->step(), 3);
  a.learner->Update(MakeBatch(2), 0, 16);
  b.learner->Update(MakeBatch(2), 0, 16);
  EXPECT_EQ(WeightBytes(*a.network), WeightBytes(*b.network));
  EXPECT_NE(WeightBytes(*a.network), WeightBytes(*MakeLearner().network));
}

TEST(Learner, RefusesAnOptimizerOfOtherNetworks) {
  Trained a = MakeLearner();
  a.learner->Update(MakeBatch(1), 0, 16);
  std::vector<NamedTensor> state = a.learner->ExportOptimizer();
  state.pop_back();
  EXPECT_THAT(a.learner->ImportOptimizer(state, 1).message(), HasSubstr("optimizer/"));
}

TEST(Learner, RefusesAnOptimizerWhoseTensorsAreNotThoseOfOne) {
  using Type = v1::CheckpointHeader::Tensor;
  Trained a = MakeLearner();
  a.learner->Update(MakeBatch(1), 0, 16);
  const std::vector<NamedTensor> good = a.learner->ExportOptimizer();
  const auto with_step = [](NamedTensor& tensor, int64_t step) {
    std::memcpy(tensor.bytes.data(), &step, sizeof(step));
  };
  const std::function<void(NamedTensor&, NamedTensor&, NamedTensor&)> changes[] = {
      [](auto& step, auto&, auto&) { step.shape = {2}, step.bytes += step.bytes; },
      [](auto& step, auto&, auto&) { step.shape = {0}, step.bytes.clear(); },
      [](auto& step, auto&, auto&) { step.type = Type::TYPE_FLOAT32, step.bytes.resize(4); },
      // The correction for the first updates would divide by 0.
      [&](auto& step, auto&, auto&) { with_step(step, -1); },
      [](auto&, auto& mean, auto&) { mean.type = Type::TYPE_INT64, mean.bytes += mean.bytes; },
      [](auto&, auto&, auto& square) {
        square.type = Type::TYPE_UINT8, square.bytes.resize(square.bytes.size() / 4);
      }};
  for (const auto& change : changes) {
    std::vector<NamedTensor> state = good;
    change(state[0], state[1], state[2]);
    Trained b = MakeLearner();
    EXPECT_THAT(b.learner->ImportOptimizer(state, 1).message(), HasSubstr("optimizer/"));
    EXPECT_EQ(b.learner->step(), 0);
  }
  EXPECT_TRUE(MakeLearner().learner->ImportOptimizer(good, 1).ok());
}

TEST(Learner, NamesAnOptionThatIsOutOfRange) {
  v1::LearnerOptions options = Options();
  options.set_learning_rate(0);
  EXPECT_THAT(CheckLearnerOptions(options).message(), HasSubstr("learner.learning_rate"));
  options = Options();
  options.set_best_share(1.5F);
  EXPECT_THAT(CheckLearnerOptions(options).message(), HasSubstr("learner.best_share"));
  for (const float weight : {-1.0F, std::numeric_limits<float>::infinity()}) {
    options = Options();
    options.set_consistency_weight(weight);
    EXPECT_THAT(CheckLearnerOptions(options).message(), HasSubstr("learner.consistency_weight"));
  }
  options = Consistent();
  options.set_unroll_steps(0);
  EXPECT_THAT(CheckLearnerOptions(options).message(),
              HasSubstr("learner.consistency_weight: 0 expected, as unroll_steps is 0"));
}

}  // namespace
}  // namespace mallocmuzero
