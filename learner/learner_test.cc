#include "learner/learner.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "env/observation_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/testing/small_learner.h"
#include "model/network.h"
#include "model/testing/failing_memory.h"

namespace mallocmuzero {
namespace {

using testing::ConsistentOptions;
using ::testing::HasSubstr;
using testing::MakeLearnableBatch;
using testing::MakeSmallLearner;
using testing::SmallLearner;
using testing::SmallOptions;

TEST(Learner, LearnsPolicyValueAndReward) {
  SmallLearner trained = MakeSmallLearner();
  const UnrollBatch batch = MakeLearnableBatch(1);
  const UpdateResult first = trained.learner->Update(batch, 0, 16).value();
  UpdateResult last;
  for (int i = 0; i < 150; ++i) last = trained.learner->Update(batch, 0, 16).value();
  // A fresh network gives each action 1/3 at all three steps: log 3 + 2 x log 3 / 2.
  EXPECT_NEAR(first.policy_loss, 2 * std::log(3.0), 0.05);
  EXPECT_LT(last.policy_loss, 0.2 * first.policy_loss);
  EXPECT_LT(last.value_loss, 0.5 * first.value_loss);
  EXPECT_LT(last.reward_loss, 0.5 * first.reward_loss);
  float error = 0;
  for (const float e : last.value_errors) error += e / 16;
  EXPECT_LT(error, 0.2);
}

TEST(Learner, WarmsUp) {
  SmallLearner trained = MakeSmallLearner();
  const UnrollBatch batch = MakeLearnableBatch(1);
  EXPECT_FLOAT_EQ(trained.learner->Update(batch, 0, 16).value().learning_rate, 0.5e-3F);
  for (int i = 0; i < 2; ++i) trained.learner->Update(batch, 0, 16).value();
  EXPECT_FLOAT_EQ(trained.learner->Update(batch, 0, 16).value().learning_rate, 2e-3F);
  EXPECT_FLOAT_EQ(trained.learner->Update(batch, 0, 16).value().learning_rate, 2e-3F);
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

TEST(Learner, TakesTheRowsItIsGiven) {
  SmallLearner a = MakeSmallLearner();
  SmallLearner b = MakeSmallLearner();
  const UnrollBatch both = MakeLearnableBatch(1, 32);
  a.learner->Update(both, 16, 16).value();
  UnrollBatch second;
  second.Resize(16, 2);
  second.observations.assign(both.observations.begin() + 16 * kObservationSize,
                             both.observations.end());
  second.actions.assign(both.actions.begin() + 32, both.actions.end());
  second.rewards.assign(both.rewards.begin() + 32, both.rewards.end());
  second.values.assign(both.values.begin() + 48, both.values.end());
  second.policies.assign(both.policies.begin() + 144, both.policies.end());
  b.learner->Update(second, 0, 16).value();
  EXPECT_EQ(a.WeightBytes(), b.WeightBytes());
}

TEST(Learner, TheSameUpdatesGiveTheSameWeights) {
  SmallLearner a = MakeSmallLearner();
  SmallLearner b = MakeSmallLearner();
  for (int i = 0; i < 5; ++i) {
    a.learner->Update(MakeLearnableBatch(i), 0, 16).value();
    b.learner->Update(MakeLearnableBatch(i), 0, 16).value();
  }
  EXPECT_EQ(a.WeightBytes(), b.WeightBytes());
}

TEST(Learner, GoesOnFromExportedStateAsIfNotStopped) {
  for (const v1::LearnerOptions& options : {SmallOptions(), ConsistentOptions()}) {
    SmallLearner a = MakeSmallLearner(options);
    for (int i = 0; i < 3; ++i) a.learner->Update(MakeLearnableBatch(i), 0, 16).value();
    SmallLearner b = MakeSmallLearner(options);
    ASSERT_TRUE(b.network->ImportWeights(a.network->ExportWeights()).ok());
    ASSERT_TRUE(b.learner->ImportOptimizer(a.learner->ExportOptimizer(), a.learner->step()).ok());
    for (SmallLearner* one : {&a, &b}) {
      for (int i = 3; i < 6; ++i) one->learner->Update(MakeLearnableBatch(i), 0, 16).value();
    }
    EXPECT_EQ(a.WeightBytes(), b.WeightBytes());
    EXPECT_EQ(a.learner->step(), b.learner->step());
  }
}

TEST(Learner, LearnsWhatTheDynamicsReach) {
  v1::LearnerOptions options = ConsistentOptions();
  options.set_value_weight(0);
  options.set_reward_weight(0);
  options.set_weight_decay(0);
  SmallLearner trained = MakeSmallLearner(options);
  UnrollBatch batch = MakeLearnableBatch(1);
  batch.policies.assign(batch.policies.size(), 0);
  const std::vector<NamedTensor> before = trained.network->ExportWeights();
  const UpdateResult first = trained.learner->Update(batch, 0, 16).value();
  ASSERT_TRUE(first.consistency_loss.has_value());
  EXPECT_FLOAT_EQ(first.total_loss, *first.consistency_loss);
  UpdateResult last;
  for (int i = 0; i < 100; ++i) last = trained.learner->Update(batch, 0, 16).value();
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
  UnrollBatch batch = MakeLearnableBatch(1);
  SmallLearner a = MakeSmallLearner(ConsistentOptions());
  a.learner->Update(batch, 0, 16).value();
  // Row 4's game ends before its second step.
  float* behind = &batch.next_observations[9 * kObservationSize];
  std::fill_n(behind, kObservationSize, 0.5F);
  SmallLearner b = MakeSmallLearner(ConsistentOptions());
  b.learner->Update(batch, 0, 16).value();
  EXPECT_EQ(a.WeightBytes(), b.WeightBytes());
  batch.reached.assign(batch.reached.size(), 0);
  EXPECT_EQ(
      *MakeSmallLearner(ConsistentOptions()).learner->Update(batch, 0, 16).value().consistency_loss,
      0);
}

TEST(Learner, TakesUpConsistencyInARunThatBeganWithout) {
  SmallLearner a = MakeSmallLearner();
  a.learner->Update(MakeLearnableBatch(0), 0, 16).value();
  EXPECT_FALSE(
      a.learner->Update(MakeLearnableBatch(1), 0, 16).value().consistency_loss.has_value());
  SmallLearner b = MakeSmallLearner(ConsistentOptions());
  ASSERT_TRUE(b.network->ImportWeights(a.network->ExportWeights()).ok());
  ASSERT_TRUE(b.learner->ImportOptimizer(a.learner->ExportOptimizer(), a.learner->step()).ok());
  EXPECT_TRUE(b.learner->Update(MakeLearnableBatch(2), 0, 16).value().consistency_loss.has_value());
  // The other direction works too.
  ASSERT_TRUE(a.network->ImportWeights(b.network->ExportWeights()).ok());
  ASSERT_TRUE(a.learner->ImportOptimizer(b.learner->ExportOptimizer(), b.learner->step()).ok());
  EXPECT_FALSE(
      a.learner->Update(MakeLearnableBatch(3), 0, 16).value().consistency_loss.has_value());
}

TEST(Learner, MixedPrecisionLearnsNearlyTheSame) {
  v1::LearnerOptions options = ConsistentOptions();
  options.set_mixed_precision(true);
  SmallLearner mixed = MakeSmallLearner(options);
  SmallLearner full = MakeSmallLearner(ConsistentOptions());
  const UnrollBatch batch = MakeLearnableBatch(1);
  UpdateResult said, expected, first;
  for (int i = 0; i < 60; ++i) {
    said = mixed.learner->Update(batch, 0, 16).value();
    expected = full.learner->Update(batch, 0, 16).value();
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
  EXPECT_NE(mixed.WeightBytes(), full.WeightBytes());
  EXPECT_EQ(mixed.WeightBytes().size(), full.WeightBytes().size());
}

TEST(Learner, MixedPrecisionEndsWithTheUpdateHoweverThatEnds) {
  v1::LearnerOptions options = SmallOptions();
  options.set_mixed_precision(true);
  const auto updated = [](const v1::LearnerOptions& with) {
    SmallLearner trained = MakeSmallLearner(with);
    trained.learner->Update(MakeLearnableBatch(1), 0, 16).value();
    return trained.WeightBytes();
  };
  const std::string expected = updated(SmallOptions());
  EXPECT_NE(updated(options), expected);
  EXPECT_EQ(updated(SmallOptions()), expected);
  UnrollBatch wrong = MakeLearnableBatch(1);
  wrong.actions[0] = 7;  // there is no such action
  const absl::Status failed = MakeSmallLearner(options).learner->Update(wrong, 0, 16).status();
  EXPECT_EQ(failed.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(failed.message(), HasSubstr("the losses of 16 rows (learner.batch_size): "));
  EXPECT_EQ(updated(SmallOptions()), expected);
}

TEST(Learner, TooLittleMemoryForTheRowsChangesNoWeight) {
  const SmallLearner trained = MakeSmallLearner();
  const std::string before = trained.WeightBytes();
  const auto update = [&] {
    const testing::ShortMemory memory(0);
    return trained.learner->Update(MakeLearnableBatch(1), 0, 16).status();
  };
  const absl::Status status = update();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(),
              HasSubstr("too little memory for the losses of 16 rows (learner.batch_size)"));
  EXPECT_EQ(trained.WeightBytes(), before);
  EXPECT_EQ(trained.learner->step(), 0);
  EXPECT_TRUE(trained.learner->Update(MakeLearnableBatch(1), 0, 16).ok());
}

TEST(Learner, AStepThatEndsMidwayForLackOfMemoryIsAFailedDevice) {
  const UnrollBatch batch = MakeLearnableBatch(1);
  // The first update of a process needs memory for what LibTorch keeps. The second one tells how
  // often such an update asks for memory.
  MakeSmallLearner().learner->Update(batch, 0, 16).value();
  constexpr int64_t kPlenty = 1'000'000'000;
  int64_t needed = 0;
  {
    const SmallLearner whole = MakeSmallLearner();
    const testing::ShortMemory memory(kPlenty);
    whole.learner->Update(batch, 0, 16).value();
    needed = kPlenty - memory.left();
  }
  const SmallLearner trained = MakeSmallLearner();
  const std::string before = trained.WeightBytes();
  absl::Status status;
  {
    const testing::ShortMemory memory(needed - 1);
    status = trained.learner->Update(batch, 0, 16).status();
  }
  // All weights have moved but those of the last parameter.
  EXPECT_NE(trained.WeightBytes(), before);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("may have changed a part of the weights"));
  EXPECT_THAT(status.message(), HasSubstr("too little memory for the new weights: "));
}

TEST(Learner, GoesOnAfterUpdatesThatWereAllNaN) {
  SmallLearner a = MakeSmallLearner();
  UnrollBatch broken = MakeLearnableBatch(1);
  for (float& weight : broken.weights) weight = std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::isnan(a.learner->Update(broken, 0, 16).value().gradient_norm));
  }
  EXPECT_EQ(a.WeightBytes(), MakeSmallLearner().WeightBytes());
  SmallLearner b = MakeSmallLearner();
  const absl::Status imported =
      b.learner->ImportOptimizer(a.learner->ExportOptimizer(), a.learner->step());
  ASSERT_TRUE(imported.ok()) << imported;
  EXPECT_EQ(b.learner->step(), 3);
  a.learner->Update(MakeLearnableBatch(2), 0, 16).value();
  b.learner->Update(MakeLearnableBatch(2), 0, 16).value();
  EXPECT_EQ(a.WeightBytes(), b.WeightBytes());
  EXPECT_NE(a.WeightBytes(), MakeSmallLearner().WeightBytes());
}

TEST(Learner, RefusesAnOptimizerOfOtherNetworks) {
  SmallLearner a = MakeSmallLearner();
  a.learner->Update(MakeLearnableBatch(1), 0, 16).value();
  std::vector<NamedTensor> state = a.learner->ExportOptimizer();
  state.pop_back();
  EXPECT_THAT(a.learner->ImportOptimizer(state, 1).message(), HasSubstr("optimizer/"));
}

TEST(Learner, RefusesAnOptimizerWhoseTensorsAreNotThoseOfOne) {
  using Type = v1::CheckpointHeader::Tensor;
  SmallLearner a = MakeSmallLearner();
  a.learner->Update(MakeLearnableBatch(1), 0, 16).value();
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
    SmallLearner b = MakeSmallLearner();
    EXPECT_THAT(b.learner->ImportOptimizer(state, 1).message(), HasSubstr("optimizer/"));
    EXPECT_EQ(b.learner->step(), 0);
  }
  EXPECT_TRUE(MakeSmallLearner().learner->ImportOptimizer(good, 1).ok());
}

TEST(Learner, NamesAnOptionThatIsOutOfRange) {
  v1::LearnerOptions options = SmallOptions();
  options.set_learning_rate(0);
  EXPECT_THAT(CheckLearnerOptions(options).message(), HasSubstr("learner.learning_rate"));
  options = SmallOptions();
  options.set_best_share(1.5F);
  EXPECT_THAT(CheckLearnerOptions(options).message(), HasSubstr("learner.best_share"));
  for (const float weight : {-1.0F, std::numeric_limits<float>::infinity()}) {
    options = SmallOptions();
    options.set_consistency_weight(weight);
    EXPECT_THAT(CheckLearnerOptions(options).message(), HasSubstr("learner.consistency_weight"));
  }
  options = ConsistentOptions();
  options.set_unroll_steps(0);
  EXPECT_THAT(CheckLearnerOptions(options).message(),
              HasSubstr("learner.consistency_weight: 0 expected, as unroll_steps is 0"));
}

}  // namespace
}  // namespace mallocmuzero
