#include "train/testing/small_run.h"

#include <filesystem>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "env/game_rules.h"
#include "env/testing/random_game_program.h"
#include "gtest/gtest.h"
#include "simulator/core/fingerprint.h"
#include "train/train_config.h"

namespace mallocmuzero::testing {

std::string NewFolder(const std::string& name) {
  // Tests run side by side.
  const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path = ::testing::TempDir() + "/training_run_test_" + test + "_" + name;
  std::filesystem::remove_all(path);
  return path;
}

ProgramSet SomePrograms(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Program> programs;
  while (programs.size() < 2) {
    v1::Program proto = RandomGameProgram(random).proto();
    proto.set_name(absl::StrCat("program ", programs.size()));
    SealProgram(proto);
    Program program = *Program::FromProto(proto);
    const auto copy = PlayedProgram::Create(*Program::FromProto(proto));
    if (copy.ok() && (*copy)->decisions() > 8 && (*copy)->decisions() < 40) {
      programs.push_back(std::move(program));
    }
  }
  return *ProgramSet::Create(std::move(programs));
}

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

}  // namespace mallocmuzero::testing
