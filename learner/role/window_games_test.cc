// Tests that the actors of a cluster decide windows of the best games anew.

#include <memory>

#include "absl/time/time.h"
#include "actor/role/actor_role.h"
#include "env/program_rules.h"
#include "gtest/gtest.h"
#include "learner/role/testing/small_cluster.h"
#include "mallocmuzero/v1/learner.grpc.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "rpc/channel.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using Cluster = testing::SmallCluster;

TEST_F(Cluster, ActorsDecideWindowsOfTheBestGamesAnew) {
  config_.mutable_learner()->set_window_share(0.9F);
  StartShard();
  StartLearner();
  const std::unique_ptr<ActorRole> actor = StartActor(0);
  // The rate limiter counts the decisions of windows only, so that fewer count than are stored.
  EXPECT_TRUE(Await([&] {
    const v1::ReplayStats stats = shard_->Stats();
    return stats.inserted_positions() < stats.positions();
  }));
  EXPECT_TRUE(Learns(20));
  // Another actor, which knows no games yet, gets the best ones.
  const auto stub = v1::Learner::NewStub(MakeChannel(learner_->address(), *security_));
  v1::ActorReport report;
  report.set_actor("actor-1");
  report.set_rules_version(kGameRulesVersion);
  EXPECT_TRUE(Await([&] {
    grpc::ClientContext context;
    PrepareCall(context, *security_, absl::Minutes(1));
    v1::ActorOrders orders;
    const grpc::Status called = stub->Report(&context, report, &orders);
    EXPECT_TRUE(called.ok()) << called.error_message();
    return orders.best_games_size() == 2;
  }));
}

}  // namespace
}  // namespace mallocmuzero
