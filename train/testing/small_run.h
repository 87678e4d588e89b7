// Small training runs, for tests.

#ifndef MALLOCMUZERO_TRAIN_TESTING_SMALL_RUN_H_
#define MALLOCMUZERO_TRAIN_TESTING_SMALL_RUN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "env/program_set.h"
#include "train/training_run.h"

namespace mallocmuzero::testing {

// Returns a path for the running test, at which no file or folder exists.
std::string NewFolder(const std::string& name);

// Two small random programs, the same for the same seed.
ProgramSet SomePrograms(uint64_t seed = 11);

// A small configuration with one thread, so that runs repeat bit for bit.
v1::TrainConfig SmallConfig();

// Start or resume a run with SomePrograms on the CPU. Errors fail the test.
std::unique_ptr<TrainingRun> StartRun(const std::string& folder, const v1::TrainConfig& config,
                                      const Network* from = nullptr);
std::unique_ptr<TrainingRun> ResumeRun(const std::string& folder);

// The bytes of all weights, for comparisons.
std::string WeightBytes(const TrainingRun& run);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_TRAIN_TESTING_SMALL_RUN_H_
