// Tests of the checkpoints that a learner keeps with their scores, and of a second learner.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "actor/role/actor_role.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/checkpoint_store.h"
#include "learner/role/learner_role.h"
#include "learner/role/testing/small_cluster.h"
#include "learner/run_directory.h"
#include "model/checkpoint.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::HasSubstr;
using ScoredCheckpoints = testing::SmallCluster;

TEST_F(ScoredCheckpoints, AVersionThatActorsHaveEvaluatedIsKept) {
  config_.mutable_learner()->set_evaluated_share(0.5F);
  config_.mutable_learner()->set_publish_updates(1'000'000);
  config_.mutable_learner()->set_scored_checkpoints(3);
  config_.mutable_learner()->set_scored_checkpoint_bytes(1 << 30);
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  const auto directory = RunDirectory::Open(folder_ + "/run");
  ASSERT_TRUE(directory.ok()) << directory.status();
  ASSERT_TRUE(Await([&] { return !ListCheckpoints(*directory).empty(); }));
  const std::vector<KeptCheckpoint> kept = ListCheckpoints(*directory);
  const v1::CheckpointManifest& manifest = kept[0].manifest;
  EXPECT_EQ(manifest.step(), 0);
  ASSERT_EQ(manifest.scores_size(), 2);
  double sum = 0;
  for (const v1::CheckpointManifest::Score& score : manifest.scores()) {
    EXPECT_GE(score.games(), 8);
    sum += score.mean_return();
  }
  EXPECT_DOUBLE_EQ(manifest.score(), sum / 2);
  EXPECT_EQ(manifest.scores(0).program(), programs_[0].name());
  EXPECT_EQ(manifest.config().network().latent(), config_.learner().network().latent());
  EXPECT_GT(manifest.rules_version(), 0);
  const auto checkpoint = LoadCheckpoint(kept[0].path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->step, 0);
  EXPECT_EQ(checkpoint->git_commit, manifest.git_commit());
  // The link changes after the folder has its name.
  EXPECT_TRUE(
      Await([&] { return std::filesystem::exists(folder_ + "/run/checkpoints/best/checkpoint"); }));
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  EXPECT_TRUE(LoadCheckpoint(folder_ + "/run/checkpoints/latest").ok());
}

TEST_F(ScoredCheckpoints, VersionsGetScoresHoweverFastTheyFollowEachOther) {
  config_.mutable_learner()->set_evaluated_share(0.25F);
  config_.mutable_learner()->set_publish_updates(1);
  config_.mutable_learner()->set_scored_checkpoints(100);
  config_.mutable_learner()->set_scored_checkpoint_bytes(1 << 30);
  config_.mutable_actor()->set_max_policy_lag(20);  // a candidate may be older
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actors[] = {StartActor(0), StartActor(1)};
  const auto directory = RunDirectory::Open(folder_ + "/run");
  ASSERT_TRUE(directory.ok()) << directory.status();
  EXPECT_TRUE(Await([&] { return ListCheckpoints(*directory).size() >= 2; }));
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  for (const KeptCheckpoint& kept : ListCheckpoints(*directory)) {
    EXPECT_EQ(LoadCheckpoint(kept.path())->step, kept.manifest.step());
    ASSERT_EQ(kept.manifest.scores_size(), 2);
    for (const v1::CheckpointManifest::Score& score : kept.manifest.scores()) {
      EXPECT_GE(score.games(), 8);
    }
  }
}

TEST_F(ScoredCheckpoints, NoneAreKeptIfTheRunWantsNone) {
  config_.mutable_learner()->set_evaluated_share(0.5F);
  config_.mutable_learner()->set_publish_updates(1'000'000);
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  ASSERT_TRUE(Learns(20));
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)), absl::OkStatus());
  EXPECT_TRUE(ListCheckpoints(*RunDirectory::Open(folder_ + "/run")).empty());
}

TEST_F(ScoredCheckpoints, ASecondLearnerIsFencedOff) {
  StartShard();
  StartLearner();
  // Another machine has another folder for the run, but the same address.
  v1::ClusterConfig other = config_;
  other.mutable_learner()->set_address(learner_->address());
  other.mutable_learner()->set_listen_address("127.0.0.1:0");
  other.mutable_learner()->set_run_dir(folder_ + "/other");
  prometheus::Registry registry;
  const absl::Status status = LearnerRole::Start(other, 0, security_, registry).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat("learner.address: a learner has answered at ",
                                     learner_->address(), " for ")));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/other"));
  // The same folder under another address.
  other = config_;
  other.mutable_learner()->set_address("127.0.0.1:0");
  const absl::Status locked = LearnerRole::Start(other, 0, security_, registry).status();
  EXPECT_EQ(locked.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(locked.message()),
              HasSubstr("/run: another process is training this run (process "));
  EXPECT_EQ(learner_->status(), absl::OkStatus());
}

TEST_F(ScoredCheckpoints, ALearnerWhoseRunIsTakenOverStops) {
  StartShard();
  StartLearner();
  std::ofstream(folder_ + "/run/lock") << "process 1 on b, since today";
  EXPECT_TRUE(Await([&] { return absl::IsFailedPrecondition(learner_->status()); }));
  EXPECT_THAT(std::string(learner_->status().message()),
              HasSubstr("another process has taken over this run (process 1 on b"));
  const auto before = std::filesystem::last_write_time(folder_ + "/run/checkpoints/latest");
  EXPECT_EQ(learner_->Stop(absl::Seconds(5)).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::filesystem::last_write_time(folder_ + "/run/checkpoints/latest"), before);
}

}  // namespace
}  // namespace mallocmuzero
