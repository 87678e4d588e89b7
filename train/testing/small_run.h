// Small training runs, for tests.

#ifndef MALLOCMUZERO_TRAIN_TESTING_SMALL_RUN_H_
#define MALLOCMUZERO_TRAIN_TESTING_SMALL_RUN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "env/program_set.h"
#include "train/training_run.h"

namespace mallocmuzero::testing {

// A path for this test only, where no file exists.
std::string NewFolder(const std::string& name);

// The same two programs every time.
ProgramSet SomePrograms(uint64_t seed = 11);

// A small run on one thread, which repeats bit for bit.
v1::TrainConfig SmallConfig();

// Start and resume runs of SomePrograms on the CPU. Errors fail the test.
std::unique_ptr<TrainingRun> StartRun(const std::string& folder, const v1::TrainConfig& config,
                                      const Network* from = nullptr);
std::unique_ptr<TrainingRun> ResumeRun(const std::string& folder);

}  // namespace mallocmuzero::testing

#endif  // MALLOCMUZERO_TRAIN_TESTING_SMALL_RUN_H_
