#include "model/network.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/config.h"
#include "base/testing/resource_limits.h"
#include "env/observation_layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/network_config.h"
#include "model/testing/random_network.h"

namespace mallocmuzero {
namespace {

using ::testing::Each;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// Owns the memory that an Evaluations points to.
struct Results {
  Results(size_t batch, size_t actions)
      : values(batch, -7), rewards(batch, -7), logits(batch * actions, -7) {}

  Evaluations Out() {
    return {.values = absl::MakeSpan(values),
            .rewards = absl::MakeSpan(rewards),
            .logits = absl::MakeSpan(logits)};
  }

  // All numbers in one vector.
  std::vector<float> Flat() const {
    std::vector<float> all = values;
    all.insert(all.end(), rewards.begin(), rewards.end());
    all.insert(all.end(), logits.begin(), logits.end());
    return all;
  }

  std::vector<float> values;
  std::vector<float> rewards;
  std::vector<float> logits;
};

v1::NetworkConfig Tiny() { return NetworkPreset("tiny").value(); }

// Each network has two blocks, so that there are layers of all kinds.
v1::NetworkConfig TwoBlocks() {
  v1::NetworkConfig config = Tiny();
  config.set_dynamics_blocks(2);
  config.set_representation_blocks(2);
  config.set_memory_blocks(2);
  return config;
}

Results EvaluateRoots(LatentModel& model, absl::Span<const float> observations,
                      const std::vector<uint32_t>& roots) {
  Results results(roots.size(), model.actions());
  model.EvaluateRoots(observations, roots, results.Out());
  return results;
}

Results EvaluateSteps(LatentModel& model, const std::vector<LatentStep>& steps) {
  Results results(steps.size(), model.actions());
  model.EvaluateSteps(steps, results.Out());
  return results;
}

std::vector<uint32_t> FirstSlots(size_t count) {
  std::vector<uint32_t> slots(count);
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

class NetworkTest : public ::testing::Test {
 protected:
  void SetUp() override { SetComputeThreads(1); }
};

TEST_F(NetworkTest, HasTheParametersOfItsLayers) {
  // Representation: 64 x 24 + 24, 72 x 24 + 24, 42 x 32 + 32, 32 x 128 + 128, 880 x 64 + 64 and
  // 2 x 64 x 64 + 64 are 73,552. Dynamics: 67 x 64 + 64 + 64 x 64, 64 x 64 + 64 and 64 x 41 + 41
  // are 15,273. Prediction: 64 x 64 + 64, 64 x 3 + 3 and 64 x 41 + 41 are 7,020.
  EXPECT_EQ(Network::Create(Tiny(), 1).value()->ParameterCount(), 73552 + 15273 + 7020);
}

TEST_F(NetworkTest, EqualSeedsGiveEqualWeightsAndOutputs) {
  const auto first = Network::Create(Tiny(), 5).value();
  const auto second = Network::Create(Tiny(), 5).value();
  const auto other = Network::Create(Tiny(), 6).value();
  for (size_t k = 0; k < first->ExportWeights().size(); ++k) {
    EXPECT_EQ(first->ExportWeights()[k].bytes, second->ExportWeights()[k].bytes);
  }
  EXPECT_NE(first->ExportWeights()[0].bytes, other->ExportWeights()[0].bytes);

  const auto observations = testing::MakeRandomObservations(3, 1);
  const auto network = testing::MakeRandomNetwork(Tiny(), 5);
  const auto same = testing::MakeRandomNetwork(Tiny(), 5);
  const auto model = network->MakeLatentModel(3, {}).value();
  const auto same_model = same->MakeLatentModel(3, {}).value();
  EXPECT_EQ(EvaluateRoots(*model, observations, FirstSlots(3)).Flat(),
            EvaluateRoots(*same_model, observations, FirstSlots(3)).Flat());
}

TEST_F(NetworkTest, FreshNetworkHasAUniformPolicyAndValueZero) {
  const auto network = Network::Create(Tiny(), 3).value();
  const auto model = network->MakeLatentModel(8, {}).value();
  const Results roots = EvaluateRoots(*model, testing::MakeRandomObservations(4, 1), FirstSlots(4));
  EXPECT_THAT(roots.logits, Each(0));
  EXPECT_THAT(roots.values, Each(FloatNear(0, 1e-6F)));
  EXPECT_THAT(roots.rewards, Each(0));
  const Results steps = EvaluateSteps(*model, {{0, 4, 0}, {1, 5, 1}, {2, 6, 2}});
  EXPECT_THAT(steps.logits, Each(0));
  EXPECT_THAT(steps.values, Each(FloatNear(0, 1e-6F)));
  EXPECT_THAT(steps.rewards, Each(FloatNear(0, 1e-6F)));
}

TEST_F(NetworkTest, OutputsDependOnObservationAndAction) {
  const auto network = testing::MakeRandomNetwork(Tiny(), 3);
  const auto model = network->MakeLatentModel(8, {}).value();
  const Results roots = EvaluateRoots(*model, testing::MakeRandomObservations(2, 1), FirstSlots(2));
  EXPECT_GT(std::abs(roots.logits[0] - roots.logits[3]), 1e-3);
  const Results steps = EvaluateSteps(*model, {{0, 4, 0}, {0, 5, 1}, {0, 6, 2}, {1, 7, 0}});
  EXPECT_GT(std::abs(steps.logits[0] - steps.logits[3]), 1e-3);
  EXPECT_GT(std::abs(steps.logits[3] - steps.logits[6]), 1e-3);
  EXPECT_GT(std::abs(steps.logits[0] - steps.logits[9]), 1e-3);
  EXPECT_NE(steps.rewards[0], steps.rewards[1]);
}

TEST_F(NetworkTest, AccessesThatAreNotThereCountForNothing) {
  const auto network = testing::MakeRandomNetwork(Tiny(), 3);
  const auto snapshot = network->Snapshot({}).value();
  std::vector<float> observations = testing::MakeRandomObservations(1, 1);
  float* last = &observations[observation::kAccessesOffset +
                              observation::kWindow * observation::kAccessFeatures];
  Results before(1, 3);
  Results after(1, 3);
  const auto evaluate = [&](Results& results) {
    EXPECT_TRUE(
        snapshot
            ->Evaluate(observations, absl::MakeSpan(results.values), absl::MakeSpan(results.logits))
            .ok());
  };
  last[observation::kIsThere] = 0;
  evaluate(before);
  last[observation::kBytes] += 1;
  evaluate(after);
  EXPECT_EQ(before.logits, after.logits);
  last[observation::kIsThere] = 1;
  evaluate(after);
  EXPECT_NE(before.logits, after.logits);
}

TEST_F(NetworkTest, SlotsAndTheRestOfTheBatchDoNotMatter) {
  constexpr size_t kBatch = 37;
  const auto network = testing::MakeRandomNetwork(TwoBlocks(), 3);
  const auto snapshot = network->Snapshot({}).value();
  const auto observations = testing::MakeRandomObservations(kBatch, 1);

  // The roots go to random slots. Two steps follow, from random roots and then from their children.
  const auto model = NetworkSnapshot::MakeLatentModel(snapshot, 4 * kBatch).value();
  std::mt19937 random(1);
  std::vector<uint32_t> slots = FirstSlots(4 * kBatch);
  std::shuffle(slots.begin(), slots.end(), random);
  const std::vector<uint32_t> roots(slots.begin(), slots.begin() + kBatch);
  const Results batch = EvaluateRoots(*model, observations, roots);
  std::vector<LatentStep> steps(kBatch);
  std::vector<size_t> rows(kBatch);
  for (size_t k = 0; k < kBatch; ++k) {
    rows[k] = random() % kBatch;
    steps[k] = {roots[rows[k]], slots[kBatch + k], static_cast<uint32_t>(random() % 3)};
  }
  EvaluateSteps(*model, steps);
  std::vector<LatentStep> next = steps;
  for (size_t k = 0; k < kBatch; ++k) next[k] = {steps[k].child, slots[2 * kBatch + k], 1};
  const Results results = EvaluateSteps(*model, next);

  // The same evaluations, one at a time.
  const auto single = NetworkSnapshot::MakeLatentModel(snapshot, 3).value();
  for (size_t k = 0; k < kBatch; ++k) {
    const auto row =
        absl::MakeConstSpan(observations).subspan(rows[k] * kObservationSize, kObservationSize);
    const Results root = EvaluateRoots(*single, row, {0});
    EXPECT_THAT(root.values[0], FloatNear(batch.values[rows[k]], 1e-5F));
    EvaluateSteps(*single, {{0, 1, steps[k].action}});
    const Results step = EvaluateSteps(*single, {{1, 2, 1}});
    EXPECT_THAT(step.values[0], FloatNear(results.values[k], 1e-5F));
    EXPECT_THAT(step.rewards[0], FloatNear(results.rewards[k], 1e-5F));
    EXPECT_THAT(step.logits,
                Pointwise(FloatNear(1e-5F), absl::MakeConstSpan(results.logits).subspan(3 * k, 3)));
  }
}

TEST_F(NetworkTest, RunningTwiceGivesTheSameBits) {
  const auto network = testing::MakeRandomNetwork(TwoBlocks(), 3);
  const auto observations = testing::MakeRandomObservations(16, 1);
  const auto run = [&] {
    const auto model = network->MakeLatentModel(32, {}).value();
    EvaluateRoots(*model, observations, FirstSlots(16));
    std::vector<LatentStep> steps;
    for (uint32_t k = 0; k < 16; ++k) steps.push_back({k, 16 + k, k % 3});
    return EvaluateSteps(*model, steps).Flat();
  };
  EXPECT_EQ(run(), run());
}

TEST_F(NetworkTest, Bfloat16IsCloseToFloat32) {
  const auto network = testing::MakeRandomNetwork(TwoBlocks(), 3);
  const auto observations = testing::MakeRandomObservations(16, 1);
  const auto run = [&](Precision precision) {
    const auto model = network->MakeLatentModel(32, {.precision = precision}).value();
    EvaluateRoots(*model, observations, FirstSlots(16));
    std::vector<LatentStep> steps;
    for (uint32_t k = 0; k < 16; ++k) steps.push_back({k, 16 + k, k % 3});
    return EvaluateSteps(*model, steps);
  };
  const Results exact = run(Precision::kFloat32);
  const Results rounded = run(Precision::kBfloat16);
  // Logits are about 1 and result from about ten roundings to 8 binary digits.
  EXPECT_THAT(rounded.logits, Pointwise(FloatNear(0.06F), exact.logits));
  EXPECT_THAT(rounded.values, Pointwise(FloatNear(0.01F), exact.values));
  EXPECT_THAT(rounded.rewards, Pointwise(FloatNear(0.01F), exact.rewards));
  EXPECT_NE(rounded.logits, exact.logits);
}

TEST_F(NetworkTest, EvaluateGivesWhatRootsGive) {
  const auto network = testing::MakeRandomNetwork(Tiny(), 3);
  const auto snapshot = network->Snapshot({}).value();
  const auto observations = testing::MakeRandomObservations(5, 1);
  const auto model = NetworkSnapshot::MakeLatentModel(snapshot, 5).value();
  const Results roots = EvaluateRoots(*model, observations, FirstSlots(5));
  Results plain(5, 3);
  ASSERT_TRUE(
      snapshot->Evaluate(observations, absl::MakeSpan(plain.values), absl::MakeSpan(plain.logits))
          .ok());
  EXPECT_EQ(plain.values, roots.values);
  EXPECT_EQ(plain.logits, roots.logits);
}

TEST_F(NetworkTest, EvaluateSaysThatMemoryIsShort) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
  GTEST_SKIP() << "sanitizers take more address space than any limit leaves";
#endif
  constexpr size_t kRows = 20'000;  // 246 MB of observations, and more of what follows from them
  const auto network = testing::MakeRandomNetwork(Tiny(), 3);
  const auto snapshot = network->Snapshot({}).value();
  const std::vector<float> observations(kRows * kObservationSize);
  Results results(kRows, 3);
  const auto evaluate = [&](size_t rows) {
    return snapshot->Evaluate(absl::MakeSpan(observations).first(rows * kObservationSize),
                              absl::MakeSpan(results.values).first(rows),
                              absl::MakeSpan(results.logits).first(rows * 3));
  };
  // The matrix library takes memory of its own at its first product, and tries for ever to get it.
  ASSERT_EQ(evaluate(64), absl::OkStatus());
  const MemoryLimit limit(uint64_t{50} << 20);
  const absl::Status status = evaluate(kRows);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("the values of 20000 positions: "));
  EXPECT_THAT(status.message(), HasSubstr("memory"));
}

TEST_F(NetworkTest, SnapshotKeepsTheWeightsItWasMadeOf) {
  const auto network = testing::MakeRandomNetwork(Tiny(), 3);
  const auto observations = testing::MakeRandomObservations(2, 1);
  const auto model = network->MakeLatentModel(2, {}).value();
  const std::vector<float> before = EvaluateRoots(*model, observations, FirstSlots(2)).Flat();
  const auto other = testing::MakeRandomNetwork(Tiny(), 4);
  ASSERT_TRUE(network->CopyWeightsFrom(*other).ok());
  EXPECT_EQ(EvaluateRoots(*model, observations, FirstSlots(2)).Flat(), before);
  const auto from_copy = network->MakeLatentModel(2, {}).value();
  const auto from_other = other->MakeLatentModel(2, {}).value();
  EXPECT_EQ(EvaluateRoots(*from_copy, observations, FirstSlots(2)).Flat(),
            EvaluateRoots(*from_other, observations, FirstSlots(2)).Flat());
}

TEST_F(NetworkTest, ThreadsShareASnapshot) {
  const auto network = testing::MakeRandomNetwork(Tiny(), 3);
  const auto snapshot = network->Snapshot({}).value();
  const auto observations = testing::MakeRandomObservations(4, 1);
  std::vector<std::vector<float>> results(3);
  std::vector<std::thread> threads;
  for (std::vector<float>& result : results) {
    threads.emplace_back([&] {
      const auto model = NetworkSnapshot::MakeLatentModel(snapshot, 4).value();
      for (int k = 0; k < 20; ++k) {
        result = EvaluateRoots(*model, observations, FirstSlots(4)).Flat();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST_F(NetworkTest, TakesAnyNumberOfActionsAndEmptyBatches) {
  const auto network = testing::MakeRandomNetwork(ReferenceNetworkConfig(32, 11, 7), 3);
  const auto model = network->MakeLatentModel(2, {}).value();
  EXPECT_EQ(model->actions(), 7);
  EXPECT_EQ(model->slots(), 2);
  EXPECT_EQ(model->observation_size(), kObservationSize);
  EvaluateRoots(*model, testing::MakeRandomObservations(1, 1), {0});
  EXPECT_EQ(EvaluateSteps(*model, {{0, 1, 6}}).logits.size(), 7);
  EXPECT_TRUE(EvaluateRoots(*model, {}, {}).values.empty());
  EXPECT_TRUE(EvaluateSteps(*model, {}).values.empty());
}

TEST_F(NetworkTest, AConsistencyHeadMayBeInACheckpointOrNot) {
  const auto with = testing::MakeRandomNetwork(Tiny(), 3);
  with->AddConsistencyHead();
  const auto observations = testing::MakeRandomObservations(3, 1);
  const auto values = [&](const Network& network) {
    return EvaluateRoots(*network.MakeLatentModel(3, {}).value(), observations, FirstSlots(3))
        .Flat();
  };
  // An actor has no consistency head but can use the weights.
  const auto without = Network::Create(Tiny(), 9).value();
  const size_t parameters = without->ParameterCount();
  EXPECT_GT(with->ParameterCount(), parameters);
  ASSERT_TRUE(without->ImportWeights(with->ExportWeights()).ok());
  EXPECT_EQ(without->ParameterCount(), parameters);
  EXPECT_EQ(values(*without), values(*with));
  // A learner with the head takes weights without one and keeps its own fresh head.
  const auto learner = Network::Create(Tiny(), 9).value();
  learner->AddConsistencyHead();
  const std::vector<NamedTensor> fresh = learner->ExportWeights();
  ASSERT_TRUE(learner->ImportWeights(without->ExportWeights()).ok());
  EXPECT_EQ(values(*learner), values(*with));
  EXPECT_EQ(learner->ExportWeights().back().name, fresh.back().name);
  EXPECT_EQ(learner->ExportWeights().back().bytes, fresh.back().bytes);
  // It also takes weights with the whole head, but not with a part of it.
  std::vector<NamedTensor> weights = with->ExportWeights();
  ASSERT_TRUE(learner->ImportWeights(weights).ok());
  EXPECT_EQ(learner->ExportWeights().back().bytes, weights.back().bytes);
  weights.pop_back();
  EXPECT_THAT(std::string(learner->ImportWeights(weights).message()),
              HasSubstr("consistency.prediction.bias is missing"));
}

TEST_F(NetworkTest, RefusesWhatCannotBe) {
  v1::NetworkConfig config = Tiny();
  config.set_heads(0);
  EXPECT_THAT(std::string(Network::Create(config, 1).status().message()), HasSubstr("heads"));
  const auto tiny = Network::Create(Tiny(), 1).value();
  const auto two_blocks = Network::Create(TwoBlocks(), 1).value();
  EXPECT_FALSE(tiny->CopyWeightsFrom(*two_blocks).ok());
  EXPECT_EQ(ParsePrecision("fp64").status().message(),
            "precision is \"fp64\", must be fp32 or bf16");
  EXPECT_EQ(ParseDevice("tpu").status().message(), "device is \"tpu\", must be cpu or cuda");
  EXPECT_EQ(ParsePrecision("bf16").value(), Precision::kBfloat16);
  EXPECT_EQ(ParseDevice("cuda").value(), Device::kCuda);
}

TEST_F(NetworkTest, CudaGivesWhatTheCpuGivesOrIsRefused) {
  const auto network = testing::MakeRandomNetwork(TwoBlocks(), 3);
  const auto snapshot = network->Snapshot({.device = Device::kCuda});
  if (!HasCuda()) {
    EXPECT_THAT(std::string(snapshot.status().message()), HasSubstr("no CUDA device"));
    return;
  }
  const auto observations = testing::MakeRandomObservations(4, 1);
  const auto on_cuda = NetworkSnapshot::MakeLatentModel(*snapshot, 8).value();
  const auto on_cpu = network->MakeLatentModel(8, {}).value();
  EXPECT_THAT(
      EvaluateRoots(*on_cuda, observations, FirstSlots(4)).Flat(),
      Pointwise(FloatNear(1e-3F), EvaluateRoots(*on_cpu, observations, FirstSlots(4)).Flat()));
  const std::vector<LatentStep> steps = {{0, 4, 0}, {1, 5, 1}, {2, 6, 2}};
  EXPECT_THAT(EvaluateSteps(*on_cuda, steps).Flat(),
              Pointwise(FloatNear(1e-3F), EvaluateSteps(*on_cpu, steps).Flat()));
}

}  // namespace
}  // namespace mallocmuzero
