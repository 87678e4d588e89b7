// Tests of actors in a cluster that cannot go on, or that have nothing to do.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actor/role/actor_role.h"
#include "actor/role/play_block.h"
#include "base/testing/resource_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "learner/role/testing/small_cluster.h"
#include "model/testing/failing_memory.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using testing::Await;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr absl::Duration kGrace = absl::Seconds(5);

class ActorFailures : public testing::SmallCluster {
 protected:
  // Starts an actor that has played, and a learner that has stopped since then.
  std::unique_ptr<ActorRole> StartAlone() {
    StartShard();
    StartLearner();
    std::unique_ptr<ActorRole> actor = StartActor(0);
    EXPECT_TRUE(Learns(4));
    EXPECT_EQ(learner_->Stop(kGrace), absl::OkStatus());
    return actor;
  }
};

TEST_F(ActorFailures, ADeviceThatFailsEndsAnActorWithOneLine) {
  const std::unique_ptr<ActorRole> actor = StartAlone();
  EXPECT_EQ(actor->status(), absl::OkStatus());
  const testing::FailingMemory failing;
  ASSERT_TRUE(Await([&] { return !actor->status().ok(); }));
  // It may fail in a game, or where it makes room for games with new weights.
  EXPECT_THAT(actor->status().code(),
              AnyOf(absl::StatusCode::kInternal, absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(std::string(actor->status().message()),
              AllOf(HasSubstr("a test wants none"), Not(HasSubstr("\n"))));
  EXPECT_EQ(actor->Stop(kGrace), absl::OkStatus());
}

TEST_F(ActorFailures, ADeviceThatFailsEndsAReanalyserWithOneLine) {
  config_.mutable_learner()->set_publish_updates(1);
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  ASSERT_TRUE(Learns(4));
  const std::unique_ptr<ActorRole> reanalyser = StartActor(0, /*reanalyse=*/true);
  ASSERT_TRUE(Await([&] { return reanalyser->games() > 0; }));
  // New weights come, so that stored games are searched again and again.
  const testing::FailingMemory failing;
  ASSERT_TRUE(Await([&] { return !reanalyser->status().ok(); }));
  // It may fail in a search, or where it makes room for searches with new weights.
  EXPECT_THAT(std::string(reanalyser->status().message()),
              AllOf(HasSubstr("a test wants none"), Not(HasSubstr("\n"))));
  EXPECT_TRUE(Await([&] { return !learner_->status().ok(); }));
}

TEST_F(ActorFailures, AnAuditThatLacksAGameEndsTheActor) {
  config_.mutable_actor()->set_audit_dir(folder_ + "/audit");
  const std::unique_ptr<ActorRole> actor = StartAlone();
  EXPECT_EQ(actor->status(), absl::OkStatus());
  {
    const FileSizeLimit limit(40);
    ASSERT_TRUE(Await([&] { return !actor->status().ok(); }));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(actor->status())) << actor->status();
  EXPECT_THAT(std::string(actor->status().message()),
              AllOf(StartsWith("actor.audit_dir: " + folder_ + "/audit/actor-0-"),
                    HasSubstr(".ids: cannot write: File too large")));
  EXPECT_EQ(actor->Stop(kGrace), actor->status());
}

TEST_F(ActorFailures, AWaitForTheFirstGamesIsNormal) {
  StartShard();
  shard_ = nullptr;
  StartLearner();
  EXPECT_TRUE(Await([&] { return !LearnerStatus().blocked_on().empty(); }));
  EXPECT_FALSE(LearnerStatus().flow_control());
  StartShard();
  const std::unique_ptr<ActorRole> reanalyser = StartActor(0, /*reanalyse=*/true);
  EXPECT_TRUE(Await([&] { return LearnerStatus().flow_control(); }));
  EXPECT_THAT(LearnerStatus().blocked_on(), HasSubstr("too few positions"));
  EXPECT_TRUE(Await([&] { return reanalyser->blocked().on == PlayBlock::On::kReplay; }));
  EXPECT_TRUE(reanalyser->blocked().flow_control);
}

TEST_F(ActorFailures, AReanalyserOfALearnerWithoutSearchWaitsAndSaysWhy) {
  config_.mutable_learner()->mutable_search()->set_simulations(0);
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  ASSERT_TRUE(Learns(8));
  const std::unique_ptr<ActorRole> reanalyser = StartActor(0, /*reanalyse=*/true);
  EXPECT_TRUE(Await([&] {
    return ToString(reanalyser->blocked()) ==
           "learner: its search has 0 simulations, so that no game is searched again";
  }));
  EXPECT_EQ(reanalyser->games(), 0);
  EXPECT_EQ(reanalyser->status(), absl::OkStatus());
}

}  // namespace
}  // namespace mallocmuzero
