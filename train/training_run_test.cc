#include "train/training_run.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/message_file.h"
#include "env/game.h"
#include "env/program_rules.h"
#include "env/program_set.h"
#include "env/solvers/solve.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"
#include "simulator/core/mapping.h"
#include "simulator/core/simulate.h"
#include "train/testing/small_run.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using testing::NewFolder;
using testing::ResumeRun;
using testing::SmallConfig;
using testing::SomePrograms;
using testing::StartRun;
using testing::WeightBytes;

TEST(TrainingRun, LeavesMetricsACheckpointAndMappings) {
  const std::string folder = NewFolder("leaves");
  const std::unique_ptr<TrainingRun> run = StartRun(folder, SmallConfig());
  int calls = 0;
  ASSERT_TRUE(run->Run({.iterations = 3}, [&](const v1::TrainMetrics&) { ++calls; }).ok());
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(std::filesystem::exists(folder + "/checkpoints/latest"));
  const auto metrics = run->directory().ReadMetrics();
  ASSERT_EQ(metrics->size(), 3);
  EXPECT_GT(metrics->back().updates(), 0);
  EXPECT_EQ(metrics->back().programs_size(), 2);
  for (const ProgramProgress& progress : run->progress()) {
    ASSERT_TRUE(progress.policy_return.has_value());
    EXPECT_EQ(progress.greedy_return.share(),
              1 - progress.program->rules().ShareOfAllHbm(
                      Solve("greedy", progress.program->rules(), {})->cycles));
    EXPECT_GE(progress.best_return, *progress.policy_return);
    const auto proto = ReadMessage<v1::Mapping>(run->directory().BestPath(
        progress.program->program().hardware().name(), progress.program->name()));
    ASSERT_TRUE(proto.ok()) << proto.status();
    const auto mapping = MappingFromProto(*proto, progress.program->program());
    ASSERT_TRUE(mapping.ok()) << mapping.status();
    const double cycles = Simulate(progress.program->program(), *mapping).total_cycles;
    EXPECT_NEAR(1 - cycles / progress.program->rules().all_hbm_cycles(),
                progress.best_return.share(), 1e-9);
  }
}

TEST(TrainingRun, WritesAMappingWhenThereIsABetterOne) {
  const std::unique_ptr<TrainingRun> run = StartRun(NewFolder("mappings"), SmallConfig());
  ASSERT_TRUE(run->Run({.iterations = 2}, nullptr).ok());
  const auto path = [&](const ProgramProgress& progress) {
    return run->directory().BestPath(progress.program->program().hardware().name(),
                                     progress.program->name());
  };
  std::vector<HbmShare> before;
  for (const ProgramProgress& progress : run->progress()) {
    before.push_back(progress.best_return);
    EXPECT_TRUE(std::filesystem::remove(path(progress)));
  }
  // The run saves again without having played another game.
  ASSERT_TRUE(run->Run({.iterations = 2}, nullptr).ok());
  for (const ProgramProgress& progress : run->progress()) {
    EXPECT_FALSE(std::filesystem::exists(path(progress)));
  }
  ASSERT_TRUE(run->Run({.iterations = 6}, nullptr).ok());
  for (size_t p = 0; p < before.size(); ++p) {
    const ProgramProgress& progress = run->progress()[p];
    EXPECT_EQ(std::filesystem::exists(path(progress)), progress.best_return > before[p]);
  }
}

void ExpectExactResume(const v1::TrainConfig& config) {
  const std::unique_ptr<TrainingRun> unbroken = StartRun(NewFolder("unbroken"), config);
  ASSERT_TRUE(unbroken->Run({.iterations = 7}, nullptr).ok());

  const std::string folder = NewFolder("broken");
  // A kill after three iterations loses everything after the checkpoint of iteration 2.
  {
    const std::unique_ptr<TrainingRun> run = StartRun(folder, config);
    int left = 3;
    EXPECT_TRUE(run->Run({.iterations = 2}, nullptr).ok());
    const std::string kept = folder + "_kept";
    std::filesystem::remove_all(kept);
    std::filesystem::copy(folder, kept, std::filesystem::copy_options::recursive);
    EXPECT_TRUE(run->Run({.iterations = 3, .stop = [&] { return --left < 0; }}, nullptr).ok());
    std::filesystem::remove_all(folder);
    std::filesystem::rename(kept, folder);
  }
  // A user stops the run in the middle of an iteration.
  {
    const std::unique_ptr<TrainingRun> run = ResumeRun(folder);
    EXPECT_EQ(run->iteration(), 2);
    int asked = 0;
    EXPECT_TRUE(run->Run({.stop = [&] { return ++asked > 90; }}, nullptr).ok());
    EXPECT_LT(run->iteration(), 7);
  }
  const std::unique_ptr<TrainingRun> run = ResumeRun(folder);
  ASSERT_TRUE(run->Run({.iterations = 7}, nullptr).ok());
  EXPECT_EQ(run->games(), unbroken->games());
  EXPECT_EQ(run->updates(), unbroken->updates());
  EXPECT_TRUE(WeightBytes(*run) == WeightBytes(*unbroken));
  for (size_t p = 0; p < run->progress().size(); ++p) {
    EXPECT_EQ(run->progress()[p].best_return, unbroken->progress()[p].best_return);
    EXPECT_EQ(run->progress()[p].policy_return, unbroken->progress()[p].policy_return);
  }
  EXPECT_EQ(run->directory().ReadMetrics()->size(), 7);
}

TEST(TrainingRun, StoppedTwiceItEndsWhereTheUnbrokenOneDoes) { ExpectExactResume(SmallConfig()); }

TEST(TrainingRun, StoppedTwiceItEndsWhereTheUnbrokenOneDoesWithoutWindows) {
  v1::TrainConfig config = SmallConfig();
  config.mutable_self_play()->set_window_share(0);
  ExpectExactResume(config);
}

TEST(TrainingRun, StoppedTwiceItEndsWhereTheUnbrokenOneDoesWithConsistency) {
  v1::TrainConfig config = SmallConfig();
  config.mutable_learner()->set_consistency_weight(2);
  ExpectExactResume(config);
}

v1::TrainConfig RankedConfig() {
  v1::TrainConfig config = SmallConfig();
  config.mutable_learner()->set_value_target(v1::LearnerOptions::RANKED);
  config.mutable_network()->set_limit(0.25F);
  config.mutable_network()->set_resolution(4);
  return config;
}

TEST(TrainingRun, StoppedTwiceItEndsWhereTheUnbrokenOneDoesWithRankedValues) {
  ExpectExactResume(RankedConfig());
}

TEST(TrainingRun, RefusesToGoOnWithValuesThatMeanSomethingElse) {
  const std::string folder = NewFolder("mixed_up");
  ASSERT_TRUE(StartRun(folder, RankedConfig())->Run({.iterations = 1}, nullptr).ok());
  v1::TrainConfig config = RankedConfig();
  config.mutable_learner()->set_value_target(v1::LearnerOptions::RELATIVE);
  ASSERT_TRUE(WriteMessage(folder + "/config.textproto", config).ok());
  EXPECT_THAT(TrainingRun::Resume(folder, SomePrograms(), Device::kCpu).status().message(),
              HasSubstr("learner.value_target"));
}

TEST(TrainingRun, RefusesToGoOnWithARunOfOtherRules) {
  const std::string folder = NewFolder("other_rules");
  ASSERT_TRUE(StartRun(folder, SmallConfig())->Run({.iterations = 1}, nullptr).ok());
  Checkpoint checkpoint = *LoadCheckpoint(folder + "/checkpoints/latest");
  v1::TrainState state;
  ASSERT_TRUE(state.ParseFromString(checkpoint.training_state));
  EXPECT_EQ(state.rules_version(), kGameRulesVersion);
  state.set_rules_version(kGameRulesVersion + 1);
  checkpoint.training_state = state.SerializeAsString();
  ASSERT_TRUE(SaveCheckpoint(folder + "/checkpoints/latest", checkpoint).ok());
  EXPECT_THAT(TrainingRun::Resume(folder, SomePrograms(), Device::kCpu).status().message(),
              HasSubstr("games of rules"));
}

TEST(TrainingRun, LeavesNoFolderWhereTheDeviceIsMissing) {
  if (HasCuda()) GTEST_SKIP() << "there is a GPU";
  const std::string folder = NewFolder("no_gpu");
  EXPECT_FALSE(TrainingRun::Start(folder, SmallConfig(), SomePrograms(), Device::kCuda).ok());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(TrainingRun, SeveralThreadsPlayAndLearnAsMuchAsOne) {
  const std::unique_ptr<TrainingRun> one = StartRun(NewFolder("one_thread"), SmallConfig());
  ASSERT_TRUE(one->Run({.iterations = 4}, nullptr).ok());
  v1::TrainConfig config = SmallConfig();
  config.mutable_self_play()->set_threads(3);
  const std::unique_ptr<TrainingRun> three = StartRun(NewFolder("three_threads"), config);
  ASSERT_TRUE(three->Run({.iterations = 4}, nullptr).ok());
  EXPECT_EQ(three->games(), one->games());
  EXPECT_GT(three->updates(), 0);
  EXPECT_EQ(three->updates(), one->updates());
}

TEST(TrainingRun, DoesNotLearnInAnIterationThatIsCutShort) {
  for (const uint32_t threads : {1, 3}) {
    v1::TrainConfig config = SmallConfig();
    config.mutable_self_play()->set_threads(threads);
    const std::unique_ptr<TrainingRun> run =
        StartRun(NewFolder(absl::StrCat("cut_short_", threads)), config);
    ASSERT_TRUE(run->Run({.iterations = 3}, nullptr).ok());
    const uint64_t updates = run->updates();
    ASSERT_GT(updates, 0);
    // The first question comes before the iteration, so the stop falls into the iteration.
    std::atomic<int> asked = 0;
    ASSERT_TRUE(run->Run({.stop = [&] { return ++asked > 1; }}, nullptr).ok());
    EXPECT_EQ(run->iteration(), 3);
    EXPECT_EQ(run->updates(), updates);
  }
}

TEST(TrainingRun, GamesThatAreNotStoredAreNotDrawnForEither) {
  v1::TrainConfig config = SmallConfig();
  config.mutable_self_play()->set_window_share(0);  // each game has enough decisions of its own
  config.mutable_replay()->set_max_decisions(1);
  const std::string folder = NewFolder("not_stored");
  ASSERT_TRUE(StartRun(folder, config)->Run({.iterations = 3}, nullptr).ok());
  // Now games fit.
  config.mutable_replay()->set_max_decisions(10'000);
  ASSERT_TRUE(WriteMessage(folder + "/config.textproto", config).ok());
  const std::unique_ptr<TrainingRun> run = ResumeRun(folder);
  ASSERT_TRUE(run->Run({.iterations = 5}, nullptr).ok());
  // The fifth iteration learns from the games of the fourth.
  const std::vector<v1::TrainMetrics> metrics = *run->directory().ReadMetrics();
  const double decisions = metrics[3].decisions() - metrics[2].decisions();
  EXPECT_GT(run->updates(), 0);
  EXPECT_LE(static_cast<double>(run->updates()) * config.learner().batch_size(), decisions);
}

TEST(TrainingRun, OnlyTheDecisionsOfWindowsAreDrawnFor) {
  v1::TrainConfig config = SmallConfig();
  config.mutable_self_play()->set_reanalysed_share(0);
  config.mutable_self_play()->set_window_share(1);
  const std::unique_ptr<TrainingRun> run = StartRun(NewFolder("windows"), config);
  ASSERT_TRUE(run->Run({.iterations = 6}, nullptr).ok());
  const std::vector<v1::TrainMetrics> metrics = *run->directory().ReadMetrics();
  // The first iteration knows no best game. From the second one on all but evaluation games have a
  // window, so that fewer positions are drawn than decisions are played.
  const double decisions = metrics[4].decisions() - metrics[0].decisions();
  const double drawn =
      (metrics[5].updates() - metrics[1].updates()) * config.learner().batch_size();
  EXPECT_GT(drawn, 0);
  EXPECT_LT(drawn, 0.75 * decisions);
}

TEST(TrainingRun, StopsBetweenTwoUpdates) {
  v1::TrainConfig config = SmallConfig();
  config.mutable_learner()->set_samples_per_insert(20);
  const std::unique_ptr<TrainingRun> run = StartRun(NewFolder("stops"), config);
  ASSERT_TRUE(run->Run({.iterations = 2}, nullptr).ok());
  // With one thread all games of an iteration are played before its updates.
  const uint64_t updates = run->updates();
  ASSERT_TRUE(run->Run({.stop = [&] { return run->updates() >= updates + 2; }}, nullptr).ok());
  EXPECT_EQ(run->updates(), updates + 2);
  EXPECT_EQ(run->saved_updates(), updates);
  EXPECT_EQ(run->iteration(), 2);
}

TEST(TrainingRun, BeginsFromTheWeightsOfAnotherNetwork) {
  const std::unique_ptr<Network> network = *Network::Create(SmallConfig().network(), 77);
  const std::string folder = NewFolder("from");
  std::string weights;
  {
    weights = WeightBytes(*StartRun(folder, SmallConfig(), network.get()));
    std::string given;
    for (const NamedTensor& tensor : network->ExportWeights()) given += tensor.bytes;
    EXPECT_TRUE(weights == given);
    EXPECT_FALSE(weights == WeightBytes(*StartRun(NewFolder("fresh"), SmallConfig())));
  }
  // A run that was stopped before its first iteration resumes from these weights.
  const std::unique_ptr<TrainingRun> run = ResumeRun(folder);
  EXPECT_TRUE(WeightBytes(*run) == weights);
  ASSERT_TRUE(run->Run({.iterations = 2}, nullptr).ok());
  EXPECT_FALSE(WeightBytes(*run) == weights);
}

TEST(TrainingRun, RefusesToBeginFromANetworkOfAnotherSize) {
  v1::NetworkConfig config = SmallConfig().network();
  config.set_latent(config.latent() * 2);
  const std::unique_ptr<Network> network = *Network::Create(config, 77);
  const std::string folder = NewFolder("from_other");
  EXPECT_EQ(TrainingRun::Start(folder, SmallConfig(), SomePrograms(), Device::kCpu, network.get())
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(TrainingRun, ARunIsTrainedByOneAtATime) {
  const std::string folder = NewFolder("twice");
  const auto resume = [&] {
    return TrainingRun::Resume(folder, SomePrograms(), Device::kCpu).status();
  };
  {
    const std::unique_ptr<TrainingRun> run = StartRun(folder, SmallConfig());
    EXPECT_EQ(resume().code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_TRUE(resume().ok()) << resume();
}

TEST(TrainingRun, RefusesOtherPrograms) {
  const std::string folder = NewFolder("others");
  ASSERT_TRUE(StartRun(folder, SmallConfig())->Run({.iterations = 1}, nullptr).ok());
  EXPECT_THAT(TrainingRun::Resume(folder, SomePrograms(12), Device::kCpu).status().message(),
              HasSubstr("not the program that the run was started with"));
}

TEST(TrainingRun, RefusesStoredGamesThatAreNotOfItsPrograms) {
  const std::string folder = NewFolder("other_games");
  ASSERT_TRUE(StartRun(folder, SmallConfig())->Run({.iterations = 1}, nullptr).ok());
  const RunDirectory directory = *RunDirectory::Open(folder);
  const std::vector<SharedTrajectory> games = *directory.ReadGames(1);
  ASSERT_GT(games.size(), 2);
  const auto resumed_with = [&](const v1::Trajectory& second) {
    std::vector<SharedTrajectory> spoilt = games;
    spoilt[1] = std::make_shared<const v1::Trajectory>(second);
    EXPECT_TRUE(directory.WriteGames(1, spoilt).ok());
    const absl::Status status = TrainingRun::Resume(folder, SomePrograms(), Device::kCpu).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  v1::Trajectory game = *games[1];
  game.set_program_sha256("another");
  EXPECT_THAT(resumed_with(game), HasSubstr("1.games: game 1: of a program that"));
  game = *games[1];
  game.mutable_actions()->back() = 7;  // there is no such action
  EXPECT_THAT(resumed_with(game), HasSubstr("1.games: game 1: program_"));
  game = *games[1];
  game.mutable_actions()->pop_back();
  EXPECT_THAT(resumed_with(game), HasSubstr("trajectory.actions"));
}

TEST(TrainingRun, StoresNoGamesOfANetworkThatSaysNaN) {
  const std::unique_ptr<Network> network = *Network::Create(SmallConfig().network(), 77);
  std::vector<NamedTensor> weights = network->ExportWeights();
  // A float with all bits set is NaN.
  for (NamedTensor& tensor : weights) tensor.bytes.assign(tensor.bytes.size(), '\xff');
  ASSERT_TRUE(network->ImportWeights(weights).ok());
  // A game without a searched decision has no numbers of the network, so all are searched.
  v1::TrainConfig config = SmallConfig();
  config.mutable_self_play()->set_searched_share(1);
  const std::string folder = NewFolder("nan");
  ASSERT_TRUE(StartRun(folder, config, network.get())->Run({.iterations = 2}, nullptr).ok());
  const std::unique_ptr<TrainingRun> run = ResumeRun(folder);
  EXPECT_EQ(run->iteration(), 2);
  EXPECT_GT(run->games(), 0);
  EXPECT_TRUE(run->directory().ReadGames(2)->empty());
}

}  // namespace
}  // namespace mallocmuzero
