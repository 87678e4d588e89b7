// The learner on a GPU against the same learner on the CPU. Skipped on machines without a GPU.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/learner.h"
#include "learner/testing/small_learner.h"
#include "model/network.h"

namespace mallocmuzero {
namespace {

using testing::ConsistentOptions;
using ::testing::HasSubstr;
using testing::MakeLearnableBatch;
using testing::MakeSmallLearner;
using testing::SmallLearner;
using testing::SmallOptions;
using testing::WorstDifference;

constexpr int kUpdates = 6;

class LearnerOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasCuda()) GTEST_SKIP() << "LibTorch finds no CUDA device here";
  }
};

TEST_F(LearnerOnGpu, MakesTheUpdatesOfTheCpu) {
  for (const v1::LearnerOptions& options : {SmallOptions(), ConsistentOptions()}) {
    const SmallLearner gpu = MakeSmallLearner(options, Device::kCuda);
    const SmallLearner cpu = MakeSmallLearner(options);
    EXPECT_EQ(gpu.WeightBytes(), cpu.WeightBytes());
    // The third update is the first one whose kernels are recorded.
    for (int i = 0; i < kUpdates; ++i) {
      const UpdateResult got = gpu.learner->Update(MakeLearnableBatch(i), 0, 16).value();
      const UpdateResult wanted = cpu.learner->Update(MakeLearnableBatch(i), 0, 16).value();
      EXPECT_NEAR(got.total_loss, wanted.total_loss, 1e-3);
      EXPECT_NEAR(got.policy_loss, wanted.policy_loss, 1e-3);
      EXPECT_NEAR(got.value_loss, wanted.value_loss, 1e-3);
      EXPECT_NEAR(got.reward_loss, wanted.reward_loss, 1e-3);
      EXPECT_NEAR(got.gradient_norm, wanted.gradient_norm, 1e-3);
      EXPECT_THAT(got.value_errors,
                  ::testing::Pointwise(::testing::FloatNear(1e-3F), wanted.value_errors));
    }
    // AdamW divides by the gradient's size, so a tiny gradient of another sign moves a weight by
    // the whole learning rate. That may happen at each update.
    EXPECT_LT(WorstDifference(gpu, cpu), kUpdates * options.learning_rate());
    EXPECT_GT(WorstDifference(gpu, MakeSmallLearner(options)), 0);
  }
}

TEST_F(LearnerOnGpu, LearnsInMixedPrecision) {
  v1::LearnerOptions options = ConsistentOptions();
  options.set_mixed_precision(true);
  const SmallLearner mixed = MakeSmallLearner(options, Device::kCuda);
  const SmallLearner full = MakeSmallLearner(ConsistentOptions(), Device::kCuda);
  const UnrollBatch batch = MakeLearnableBatch(1);
  UpdateResult first, got, wanted;
  for (int i = 0; i < 60; ++i) {
    got = mixed.learner->Update(batch, 0, 16).value();
    wanted = full.learner->Update(batch, 0, 16).value();
    ASSERT_TRUE(std::isfinite(got.total_loss) && std::isfinite(got.gradient_norm)) << i;
    if (i == 0) first = got;
    // bfloat16 has 8 binary digits.
    if (i < 3) {
      EXPECT_NEAR(got.total_loss, wanted.total_loss, 0.02 * wanted.total_loss);
    }
  }
  EXPECT_LT(got.policy_loss, 0.5 * first.policy_loss);
  EXPECT_NE(mixed.WeightBytes(), full.WeightBytes());
}

TEST_F(LearnerOnGpu, GoesOnOnTheCpuAndBack) {
  const SmallLearner gpu = MakeSmallLearner(SmallOptions(), Device::kCuda);
  for (int i = 0; i < 3; ++i) gpu.learner->Update(MakeLearnableBatch(i), 0, 16).value();
  const SmallLearner cpu = MakeSmallLearner();
  ASSERT_TRUE(cpu.network->ImportWeights(gpu.network->ExportWeights()).ok());
  ASSERT_TRUE(
      cpu.learner->ImportOptimizer(gpu.learner->ExportOptimizer(), gpu.learner->step()).ok());
  EXPECT_EQ(cpu.WeightBytes(), gpu.WeightBytes());
  const SmallLearner back = MakeSmallLearner(SmallOptions(), Device::kCuda);
  ASSERT_TRUE(back.network->ImportWeights(cpu.network->ExportWeights()).ok());
  ASSERT_TRUE(
      back.learner->ImportOptimizer(cpu.learner->ExportOptimizer(), cpu.learner->step()).ok());
  for (const SmallLearner* each : {&gpu, &cpu, &back}) {
    each->learner->Update(MakeLearnableBatch(3), 0, 16).value();
  }
  EXPECT_LT(WorstDifference(gpu, back), 1e-5);
  EXPECT_LT(WorstDifference(gpu, cpu), SmallOptions().learning_rate());
}

TEST_F(LearnerOnGpu, ChangesNothingAfterAGradientThatIsNotFinite) {
  const SmallLearner gpu = MakeSmallLearner(SmallOptions(), Device::kCuda);
  const std::string before = gpu.WeightBytes();
  UnrollBatch broken = MakeLearnableBatch(1);
  broken.weights.assign(16, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(gpu.learner->Update(broken, 0, 16).value().gradient_norm));
  EXPECT_EQ(gpu.WeightBytes(), before);
  EXPECT_GT(gpu.learner->Update(MakeLearnableBatch(1), 0, 16).value().gradient_norm, 0);
  EXPECT_NE(gpu.WeightBytes(), before);
}

TEST_F(LearnerOnGpu, TakesBatchesOfOtherShapes) {
  const SmallLearner gpu = MakeSmallLearner(SmallOptions(), Device::kCuda);
  const SmallLearner cpu = MakeSmallLearner();
  const UnrollBatch batch = MakeLearnableBatch(1, 32);
  for (const size_t rows : {16, 16, 16, 32, 32, 16, 8, 16}) {
    const UpdateResult got = gpu.learner->Update(batch, 0, rows).value();
    const UpdateResult wanted = cpu.learner->Update(batch, 0, rows).value();
    EXPECT_NEAR(got.total_loss, wanted.total_loss, 1e-3) << rows;
    EXPECT_NEAR(got.gradient_norm, wanted.gradient_norm, 1e-3) << rows;
    EXPECT_EQ(got.value_errors.size(), rows);
  }
}

TEST_F(LearnerOnGpu, ItsNetworkPlaysOnBothDevices) {
  const SmallLearner gpu = MakeSmallLearner(SmallOptions(), Device::kCuda);
  for (int i = 0; i < 3; ++i) gpu.learner->Update(MakeLearnableBatch(i), 0, 16).value();
  const UnrollBatch batch = MakeLearnableBatch(7);
  std::vector<float> values[2] = {std::vector<float>(16), std::vector<float>(16)};
  std::vector<float> logits[2] = {std::vector<float>(48), std::vector<float>(48)};
  for (const int d : {0, 1}) {
    const auto snapshot = gpu.network->Snapshot({.device = d == 0 ? Device::kCuda : Device::kCpu});
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    ASSERT_TRUE(
        (*snapshot)
            ->Evaluate(batch.observations, absl::MakeSpan(values[d]), absl::MakeSpan(logits[d]))
            .ok());
  }
  EXPECT_THAT(values[0], ::testing::Pointwise(::testing::FloatNear(1e-4F), values[1]));
  EXPECT_THAT(logits[0], ::testing::Pointwise(::testing::FloatNear(1e-3F), logits[1]));
}

TEST_F(LearnerOnGpu, NamesTheRowsForWhichMemoryIsShort) {
  v1::LearnerOptions options = SmallOptions();
  const SmallLearner gpu = MakeSmallLearner(options, Device::kCuda);
  const std::string before = gpu.WeightBytes();
  // Each row takes some 100 KiB for its gradients.
  constexpr size_t kRows = 1 << 21;
  UnrollBatch batch;
  batch.Resize(kRows, 2);
  const absl::Status status = gpu.learner->Update(batch, 0, kRows).status();
  if (status.ok()) GTEST_SKIP() << "this GPU has memory for 2,097,152 rows";
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(status.message(),
              HasSubstr("too little memory for the losses of 2097152 rows (learner.batch_size)"));
  EXPECT_EQ(gpu.WeightBytes(), before);
  EXPECT_TRUE(gpu.learner->Update(MakeLearnableBatch(1), 0, 16).ok());
}

}  // namespace
}  // namespace mallocmuzero
