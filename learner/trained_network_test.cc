#include "learner/trained_network.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "env/action.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/batch_maker.h"
#include "learner/run_checkpoint.h"
#include "model/network_config.h"
#include "model/testing/failing_memory.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kRowCount = 4;

v1::LearnerOptions SmallOptions() {
  v1::LearnerOptions options;
  options.set_batch_size(kRowCount);
  options.set_samples_per_insert(1);
  options.set_learning_rate(1e-3F);
  options.set_max_gradient_norm(1);
  options.set_value_weight(1);
  return options;
}

TrainedNetwork MakeTrained(uint64_t seed, const Network* from = nullptr) {
  SetComputeThreads(1);
  return *TrainedNetwork::Create(*NetworkPreset("tiny"), SmallOptions(), seed, Device::kCpu, from);
}

void UpdateFromRandomRows(uint64_t seed, TrainedNetwork& trained, size_t unroll = 2) {
  UnrollBatch batch;
  batch.Resize(kRowCount, unroll);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> unit(-1, 1);
  for (float& x : batch.observations) x = unit(random);
  for (float& x : batch.values) x = unit(random);
  for (size_t row = 0; row < kRowCount; ++row) {
    batch.policies[row * (unroll + 1) * kActionCount + random() % kActionCount] = 1;
  }
  ASSERT_TRUE(trained.learner().Update(batch, 0, kRowCount).ok());
}

std::string BytesOf(const std::vector<NamedTensor>& tensors) {
  std::string bytes;
  for (const NamedTensor& tensor : tensors) bytes += tensor.bytes;
  return bytes;
}

std::string WeightsOf(const TrainedNetwork& trained) { return BytesOf(trained.Weights()->weights); }

void ExpectExactContinuation(size_t unroll) {
  TrainedNetwork first = MakeTrained(1);
  for (uint64_t i = 0; i < 3; ++i) UpdateFromRandomRows(i, first, unroll);
  const Checkpoint checkpoint = *first.Capture({});
  TrainedNetwork second = MakeTrained(2);
  ASSERT_FALSE(WeightsOf(second) == WeightsOf(first));
  ASSERT_EQ(second.Restore(checkpoint), absl::OkStatus());
  EXPECT_EQ(second.step(), 3);
  EXPECT_TRUE(WeightsOf(second) == WeightsOf(first));
  // Only with the moments of the optimiser do both take the same step.
  UpdateFromRandomRows(3, first, unroll);
  UpdateFromRandomRows(3, second, unroll);
  EXPECT_TRUE(WeightsOf(second) == WeightsOf(first));
}

TEST(TrainedNetwork, GoesOnFromACheckpointAsIfItHadNotStopped) { ExpectExactContinuation(2); }

TEST(TrainedNetwork, GoesOnWithoutUnrolledStepsToo) { ExpectExactContinuation(0); }

TEST(TrainedNetwork, ACheckpointHasTheStateOfItsRun) {
  TrainedNetwork trained = MakeTrained(1);
  for (uint64_t i = 0; i < 2; ++i) UpdateFromRandomRows(i, trained);
  v1::TrainState state;
  state.set_iteration(7);
  const Checkpoint checkpoint = *trained.Capture(state);
  EXPECT_EQ(checkpoint.step, 2);
  const absl::StatusOr<v1::TrainState> read = ReadState(checkpoint);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->iteration(), 7);
  EXPECT_EQ(read->update(), 2);
}

TEST(TrainedNetwork, WeightsAloneAreNoCheckpointOfARun) {
  TrainedNetwork trained = MakeTrained(1);
  UpdateFromRandomRows(0, trained);
  const Checkpoint weights = *trained.Weights();
  EXPECT_EQ(weights.step, 1);
  EXPECT_THAT(weights.optimizer, IsEmpty());
  EXPECT_EQ(ReadState(weights).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(TrainedNetwork, ADeviceThatFailsIsAnError) {
  TrainedNetwork trained = MakeTrained(1);
  UpdateFromRandomRows(0, trained);
  const Checkpoint checkpoint = *trained.Capture({});
  const testing::FailingMemory failing;
  const absl::Status status = trained.Restore(checkpoint);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(),
              HasSubstr("the device cannot compute the weights of a checkpoint: "));
}

TEST(TrainedNetwork, LackOfMemoryAtAnyPointOfTheStartIsAnError) {
  const TrainedNetwork other = MakeTrained(1);
  v1::LearnerOptions options = SmallOptions();
  options.set_unroll_steps(2);
  options.set_consistency_weight(1);
  const auto create = [&] {
    return TrainedNetwork::Create(*NetworkPreset("tiny"), options, 2, Device::kCpu,
                                  &other.network())
        .status();
  };
  ASSERT_EQ(create(), absl::OkStatus());  // makes what LibTorch keeps
  constexpr int64_t kPlenty = 1'000'000'000;
  int64_t needed = 0;
  {
    const testing::ShortMemory memory(kPlenty);
    ASSERT_EQ(create(), absl::OkStatus());
    needed = kPlenty - memory.left();
  }
  constexpr int64_t kPoints = 64;
  for (int64_t point = 0; point < kPoints; ++point) {
    const testing::ShortMemory memory(needed * point / kPoints);
    EXPECT_EQ(create().code(), absl::StatusCode::kResourceExhausted) << point;
  }
}

TEST(TrainedNetwork, BeginsWithTheWeightsOfAnotherNetwork) {
  const TrainedNetwork other = MakeTrained(1);
  EXPECT_TRUE(WeightsOf(MakeTrained(2, &other.network())) == WeightsOf(other));
  EXPECT_FALSE(WeightsOf(MakeTrained(2)) == WeightsOf(other));
}

TEST(TrainedNetwork, RefusesNetworksOfAnotherSize) {
  v1::NetworkConfig config = *NetworkPreset("tiny");
  config.set_latent(2 * config.latent());
  const auto large = TrainedNetwork::Create(config, SmallOptions(), 1, Device::kCpu);
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_EQ(MakeTrained(1).Restore(*large->Capture({})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TrainedNetwork::Create(*NetworkPreset("tiny"), SmallOptions(), 1, Device::kCpu,
                                   &large->network())
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TrainedNetwork, RefusesACheckpointWhoseValuesHaveAnotherScale) {
  const Checkpoint checkpoint = *MakeTrained(1).Capture({});
  for (const bool changes_limit : {true, false}) {
    v1::NetworkConfig config = *NetworkPreset("tiny");
    if (changes_limit) {
      config.set_limit(6);
    } else {
      config.set_resolution(0.5F);
    }
    auto other = TrainedNetwork::Create(config, SmallOptions(), 1, Device::kCpu);
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_THAT(other->Restore(checkpoint).message(),
                HasSubstr("network.limit, network.resolution: 7, 0.004 expected"));
  }
}

}  // namespace
}  // namespace mallocmuzero
