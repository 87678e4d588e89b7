// Tests of how a cluster's learner begins a run: its first networks, its folder, and the errors
// that prevent a start.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "actor/role/actor_role.h"
#include "base/file_io.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/role/learner_role.h"
#include "learner/role/set_up.h"
#include "learner/role/testing/small_cluster.h"
#include "learner/run_checkpoint.h"
#include "learner/run_directory.h"
#include "mallocmuzero/v1/train_state.pb.h"
#include "model/checkpoint.h"
#include "model/network.h"
#include "model/network_config.h"
#include "model/tensors.h"
#include "replay/client/replay_writer.h"
#include "replay/testing/shards.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using NewRun = testing::SmallCluster;
TEST_F(NewRun, BeginsWithTheNetworksOfACheckpoint) {
  v1::NetworkConfig config = *NetworkPreset("tiny");
  config.set_latent(2 * config.latent());
  const auto network = *Network::Create(config, 77);
  const std::string path = folder_ + "/from.checkpoint";
  ASSERT_TRUE(SaveCheckpoint(path, MakeCheckpoint(*network)).ok());
  config_.mutable_learner()->set_from(path);
  StartShard();  // without actors it stays empty, so there are no updates
  StartLearner();
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  const auto saved = LoadCheckpoint(folder_ + "/run/checkpoints/latest");
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->step, 0);
  const std::vector<NamedTensor> weights = network->ExportWeights();
  ASSERT_EQ(saved->weights.size(), weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_TRUE(saved->weights[i].bytes == weights[i].bytes) << weights[i].name;
  }
  learner_ = nullptr;
  std::filesystem::resize_file(path, 100);
  config_.mutable_learner()->set_run_dir(folder_ + "/another_run");
  EXPECT_THAT(LearnerRole::Start(config_, 0, security_, registry_).status().message(),
              HasSubstr("learner.from: " + path));
}

TEST_F(NewRun, DoesNotNeedTheNetworksThatItBeganWithAnyMoreOnceItGoesOn) {
  v1::NetworkConfig config = *NetworkPreset("tiny");
  config.set_latent(2 * config.latent());
  const std::string path = folder_ + "/from.checkpoint";
  ASSERT_TRUE(SaveCheckpoint(path, MakeCheckpoint(**Network::Create(config, 77))).ok());
  config_.mutable_learner()->set_from(path);
  StartShard();
  StartLearner();
  // Not even a stop has saved the run.
  learner_ = nullptr;
  const auto saved = LoadCheckpoint(folder_ + "/run/checkpoints/latest");
  ASSERT_TRUE(saved.ok()) << saved.status();
  std::filesystem::remove(path);
  // Another process of the learner finds the sizes of the networks in the run, too, if it sees it.
  v1::LearnerRole second = config_.learner();
  EXPECT_EQ(CompleteLearnerConfig(second, 1), absl::OkStatus());
  EXPECT_EQ(second.network().latent(), config.latent());
  second.set_run_dir(folder_ + "/no_run");
  EXPECT_THAT(CompleteLearnerConfig(second, 1).message(), HasSubstr("learner.from: " + path));
  StartLearner();
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  learner_ = nullptr;
  const auto again = LoadCheckpoint(folder_ + "/run/checkpoints/latest");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->network.latent(), config.latent());
  ASSERT_EQ(again->weights.size(), saved->weights.size());
  EXPECT_TRUE(again->weights[0].bytes == saved->weights[0].bytes);
}

TEST_F(NewRun, SaysWhichFieldIsWrong) {
  config_.mutable_learner()->set_publish_updates(0);
  EXPECT_THAT(LearnerRole::Start(config_, 0, security_, registry_).status().message(),
              HasSubstr("learner.publish_updates"));
  config_.mutable_learner()->set_publish_updates(1);
  config_.mutable_learner()->set_workloads(0, "/no/such.program");
  EXPECT_THAT(LearnerRole::Start(config_, 0, security_, registry_).status().message(),
              HasSubstr("learner.workloads: /no/such.program"));
  config_.mutable_learner()->set_processes(3);
  EXPECT_THAT(LearnerRole::Start(config_, 0, security_, registry_).status().message(),
              HasSubstr("learner.options.batch_size"));
  config_.mutable_actor()->set_games_in_flight(0);
  EXPECT_THAT(ActorRole::Start(config_, 0, false, security_, registry_).status().message(),
              HasSubstr("actor.games_in_flight"));
}

TEST_F(NewRun, SavesItsCheckpointEvenIfItsMetricsCannotBeWritten) {
  StartShard();
  StartLearner();
  const std::string metrics = folder_ + "/run/metrics.jsonl";
  std::filesystem::remove(metrics);
  std::filesystem::create_directories(metrics + "/in_the_way");
  const std::string checkpoint = folder_ + "/run/checkpoints/latest";
  std::filesystem::remove(checkpoint);
  EXPECT_THAT(learner_->Stop(absl::Seconds(5)).message(), HasSubstr("metrics.jsonl"));
  EXPECT_TRUE(std::filesystem::exists(checkpoint));
}

TEST_F(NewRun, SavesACheckpointBeforeAnythingElseIsThere) {
  StartShard();
  StartLearner();
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/run/checkpoints/latest"));
}

TEST_F(NewRun, RefusesAFolderWhoseRunHasLostItsCheckpoint) {
  StartShard();
  StartLearner();
  ASSERT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  learner_ = nullptr;
  const std::string metrics = *ReadFile(folder_ + "/run/metrics.jsonl");
  EXPECT_FALSE(metrics.empty());
  std::filesystem::remove(folder_ + "/run/checkpoints/latest");
  const absl::Status status = LearnerRole::Start(config_, 0, security_, registry_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("checkpoints/latest: missing"), HasSubstr("checkpoints/previous")));
  EXPECT_EQ(*ReadFile(folder_ + "/run/metrics.jsonl"), metrics);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/run/checkpoints/latest"));
}

TEST_F(NewRun, SavesItsSecondCheckpointWhenTimeHasCome) {
  config_.mutable_learner()->set_checkpoint_seconds(1000);
  StartShard();
  const absl::Time start = absl::Now();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  ASSERT_TRUE(Learns(1));
  const Checkpoint latest = *LoadCheckpoint(folder_ + "/run/checkpoints/latest");
  if (absl::Now() - start > absl::Seconds(9)) GTEST_SKIP() << "the machine is too slow";
  // The first checkpoint is written before the first iteration, the second after 10 seconds.
  EXPECT_EQ(ReadState(latest)->iteration(), 0);
}

TEST_F(NewRun, GoesOnFromTheCheckpointBeforeTheLatest) {
  config_.mutable_learner()->set_checkpoint_seconds(1000);
  StartShard();
  const std::string checkpoints = folder_ + "/run/checkpoints";
  // The first checkpoint has no line of metrics. Each stop adds a checkpoint and a line.
  for (int start = 0; start < 2; ++start) {
    StartLearner();
    ASSERT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
    learner_ = nullptr;
  }
  const RunDirectory directory = *RunDirectory::Open(folder_ + "/run");
  ASSERT_EQ(directory.ReadMetrics()->size(), 2);
  std::filesystem::copy_file(checkpoints + "/previous", checkpoints + "/latest",
                             std::filesystem::copy_options::overwrite_existing);
  StartLearner();
  EXPECT_EQ(directory.ReadMetrics()->size(), 1);
}

TEST_F(NewRun, ARunOfTrainThatItGoesOnWithIsTheLearnersFromThenOn) {
  StartShard();
  StartLearner();
  ASSERT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  learner_ = nullptr;
  const std::string latest = folder_ + "/run/checkpoints/latest";
  Checkpoint checkpoint = *LoadCheckpoint(latest);
  v1::TrainState state;
  ASSERT_TRUE(state.ParseFromString(checkpoint.training_state));
  EXPECT_FALSE(state.has_replay());
  state.mutable_replay()->set_inserted_games(3);
  checkpoint.training_state = state.SerializeAsString();
  ASSERT_TRUE(SaveCheckpoint(latest, checkpoint).ok());
  StartLearner();
  ASSERT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  ASSERT_TRUE(state.ParseFromString(LoadCheckpoint(latest)->training_state));
  EXPECT_FALSE(state.has_replay());
}

// As when the disk with the run is not mounted.
TEST_F(NewRun, IsRefusedInARunningClusterUnlessTheOperatorAsksForIt) {
  StartShard();
  const auto writer =
      *ReplayWriter::Start({.shards = {AddressOf(*shard_, config_.replay(0).name())}});
  ASSERT_TRUE(writer->Write(MakeTrajectory(1, 5)));
  ASSERT_EQ(writer->Close(absl::Seconds(20)), absl::OkStatus());
  const absl::Status refused = LearnerRole::Start(config_, 0, security_, registry_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr(folder_ + "/run holds no run"),
                                       HasSubstr("has stored 1 games"), HasSubstr("--new-run")));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/run/config.textproto"));
  config_.mutable_learner()->set_new_run(true);
  StartLearner();
  ASSERT_NE(learner_, nullptr);
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  learner_ = nullptr;
  // The run is there from then on.
  config_.mutable_learner()->set_new_run(false);
  StartLearner();
  EXPECT_NE(learner_, nullptr);
}

TEST_F(NewRun, RefusesAFolderWhoseRunHasOtherNetworks) {
  StartShard();
  StartLearner();
  learner_ = nullptr;
  config_.mutable_learner()->mutable_network()->set_latent(2 *
                                                           config_.learner().network().latent());
  EXPECT_THAT(LearnerRole::Start(config_, 0, security_, registry_).status().message(),
              HasSubstr("learner.network"));
}

}  // namespace
}  // namespace mallocmuzero
