// A small learner and batches that it can learn, for tests.

#ifndef MALLOCMUZERO_LEARNER_TESTING_SMALL_LEARNER_H_
#define MALLOCMUZERO_LEARNER_TESTING_SMALL_LEARNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "learner/batch_maker.h"
#include "learner/learner.h"
#include "mallocmuzero/v1/train.pb.h"
#include "model/network.h"

namespace mallocmuzero::testing {

// Batches of 16 rows and two steps.
v1::LearnerOptions SmallOptions();

// SmallOptions with the loss of consistency.
v1::LearnerOptions ConsistentOptions();

// Rows whose best action and value are in the first floats of the observation.
UnrollBatch MakeLearnableBatch(uint64_t seed, size_t rows = 16);

struct SmallLearner {
  std::unique_ptr<Network> network;
  std::unique_ptr<Learner> learner;

  // All weights as one string.
  std::string WeightBytes() const;
};

// Equal options give learners with equal weights, on every device.
SmallLearner MakeSmallLearner(const v1::LearnerOptions& options = SmallOptions(),
                              Device device = Device::kCpu);

// The largest difference of two weights in the same place.
double WorstDifference(const SmallLearner& a, const SmallLearner& b);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_LEARNER_TESTING_SMALL_LEARNER_H_
