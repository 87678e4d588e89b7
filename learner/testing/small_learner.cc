#include "learner/testing/small_learner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "env/action.h"
#include "env/observation_layout.h"
#include "gtest/gtest.h"
#include "model/network_config.h"
#include "model/tensors.h"

namespace mallocmuzero::testing {

v1::LearnerOptions SmallOptions() {
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

v1::LearnerOptions ConsistentOptions() {
  v1::LearnerOptions options = SmallOptions();
  options.set_consistency_weight(1);
  return options;
}

UnrollBatch MakeLearnableBatch(uint64_t seed, size_t rows) {
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

std::string SmallLearner::WeightBytes() const {
  std::string bytes;
  for (const NamedTensor& tensor : network->ExportWeights()) bytes += tensor.bytes;
  return bytes;
}

SmallLearner MakeSmallLearner(const v1::LearnerOptions& options, Device device) {
  SetComputeThreads(1);
  SmallLearner made;
  made.network = *Network::Create(*NetworkPreset("tiny"), 1);
  made.learner = *Learner::Create(*made.network, options, device);
  return made;
}

double WorstDifference(const SmallLearner& a, const SmallLearner& b) {
  const std::string of_a = a.WeightBytes();
  const std::string of_b = b.WeightBytes();
  EXPECT_EQ(of_a.size(), of_b.size());
  double worst = 0;
  for (size_t k = 0; k < std::min(of_a.size(), of_b.size()); k += sizeof(float)) {
    float x = 0;
    float y = 0;
    std::memcpy(&x, &of_a[k], sizeof(x));
    std::memcpy(&y, &of_b[k], sizeof(y));
    worst = std::max<double>(worst, std::abs(x - y));
  }
  return worst;
}

}  // namespace mallocmuzero::testing
