#include "train/testing/small_run.h"

#include <filesystem>

#include "env/testing/random_program_set.h"
#include "gtest/gtest.h"
#include "train/train_config.h"

namespace mallocmuzero::testing {

std::string NewFolder(const std::string& name) {
  const std::string path = ::testing::TempDir() + "/training_run_test_" + name;
  std::filesystem::remove_all(path);
  return path;
}

ProgramSet SomePrograms(uint64_t seed) { return RandomProgramSet(seed, 2); }

v1::TrainConfig SmallConfig() {
  v1::TrainConfig config = *DefaultTrainConfig("tiny");
  config.mutable_search()->set_simulations(4);
  config.mutable_self_play()->set_games_per_iteration(6);
  config.mutable_self_play()->set_threads(1);
  config.mutable_self_play()->set_reanalysed_share(0.5F);
  config.mutable_learner()->set_batch_size(32);
  config.mutable_replay()->set_max_decisions(400);
  config.set_checkpoint_iterations(2);
  config.set_evaluation_iterations(2);
  config.set_seed(3);
  return config;
}

std::unique_ptr<TrainingRun> StartRun(const std::string& folder, const v1::TrainConfig& config,
                                      const Network* from) {
  auto run = TrainingRun::Start(folder, config, SomePrograms(), Device::kCpu, from);
  EXPECT_TRUE(run.ok()) << run.status();
  return *std::move(run);
}

std::unique_ptr<TrainingRun> ResumeRun(const std::string& folder) {
  auto run = TrainingRun::Resume(folder, SomePrograms(), Device::kCpu);
  EXPECT_TRUE(run.ok()) << run.status();
  return *std::move(run);
}

std::string WeightBytes(const TrainingRun& run) {
  std::string bytes;
  for (const NamedTensor& tensor : run.network().ExportWeights()) bytes += tensor.bytes;
  return bytes;
}

}  // namespace mallocmuzero::testing
