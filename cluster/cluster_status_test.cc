#include "cluster/cluster_status.h"

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/status.grpc.pb.h"
#include "rpc/security.h"
#include "rpc/server.h"

namespace mallocmuzero {
namespace {

using testing::HasSubstr;

// A server with a status that the test sets.
class FakeRole {
 public:
  FakeRole() {
    absl::StatusOr<std::unique_ptr<RpcServer>> server =
        RpcServer::Start({.address = "127.0.0.1:0", .services = {&service_}});
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  ~FakeRole() { server_->Shutdown(absl::ZeroDuration()); }

  v1::RoleStatus& status() { return service_.status; }
  const std::string& address() const { return server_->address(); }

 private:
  struct Service : public v1::Status::CallbackService {
    grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                        const v1::GetStatusRequest*,
                                        v1::RoleStatus* response) override {
      *response = status;
      grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
      reactor->Finish(grpc::Status::OK);
      return reactor;
    }
    v1::RoleStatus status;
  };

  Service service_;
  std::unique_ptr<RpcServer> server_;
};

class ClusterStatus : public testing::Test {
 protected:
  ClusterStatus() {
    shard_.status().set_role(v1::RoleStatus::REPLAY);
    shard_.status().set_name("a");
    (*shard_.status().mutable_figures())["positions"] = 700;
    learner_.status().set_role(v1::RoleStatus::LEARNER);
    learner_.status().set_name("learner");
    (*learner_.status().mutable_figures())["step"] = 41;
    v1::RoleStatus& actor = *learner_.status().add_peers();
    actor.set_role(v1::RoleStatus::ACTOR);
    actor.set_name("actor-0");
    (*actor.mutable_figures())["games_per_second"] = 2.5;
    config_.add_replay()->set_name("a");
    config_.mutable_replay(0)->set_address(shard_.address());
    config_.mutable_learner()->set_name("learner");
    config_.mutable_learner()->set_address(learner_.address());
    config_.mutable_actor()->set_expected(1);
  }

  v1::ClusterStatus Collect() const {
    return StatusCollector(config_, std::make_shared<Security>()).Collect(absl::Seconds(20));
  }

  FakeRole shard_;
  FakeRole learner_;
  v1::ClusterConfig config_;
};

TEST_F(ClusterStatus, AsksEveryRole) {
  const v1::ClusterStatus status = Collect();
  ASSERT_EQ(status.roles_size(), 2);
  EXPECT_EQ(status.roles(0).name(), "a");
  EXPECT_EQ(status.roles(0).address(), shard_.address());
  EXPECT_EQ(status.roles(1).peers(0).name(), "actor-0");
  EXPECT_TRUE(status.healthy());
  EXPECT_EQ(SummaryLine(status),
            "step 41, 0.0 updates/s, 1 actors, 2.5 games/s, 700 positions stored; all well");
}

TEST_F(ClusterStatus, GamesThatAreSearchedAgainAreNotPlayed) {
  v1::RoleStatus& reanalyser = *learner_.status().add_peers();
  reanalyser.set_role(v1::RoleStatus::REANALYSE);
  (*reanalyser.mutable_figures())["games_per_second"] = 100;
  EXPECT_THAT(SummaryLine(Collect()), HasSubstr("1 actors, 2.5 games/s"));
}

TEST_F(ClusterStatus, ARoleThatIsAwayIsARowThatSaysSo) {
  // The temporary server is gone after this line, so no process listens on its port.
  config_.mutable_replay(0)->set_address(FakeRole().address());
  const v1::ClusterStatus status = Collect();
  ASSERT_EQ(status.roles_size(), 2);
  EXPECT_EQ(status.roles(0).name(), "a");
  EXPECT_EQ(HealthOf(status.roles(0)), Health::kAway);
  EXPECT_EQ(status.roles(0).error(), "Connection refused");
  EXPECT_EQ(HealthOf(status.roles(1)), Health::kOk);
  EXPECT_FALSE(status.healthy());
  EXPECT_THAT(SummaryLine(status), HasSubstr("; a away"));
}

TEST_F(ClusterStatus, FlowControlIsHealthyAndALackIsNot) {
  shard_.status().set_blocked_on("rate limiter: the learner is 4,000 draws behind");
  shard_.status().set_flow_control(true);
  EXPECT_EQ(HealthOf(shard_.status()), Health::kWaiting);
  EXPECT_TRUE(Collect().healthy());
  v1::RoleStatus& actor = *learner_.status().mutable_peers(0);
  actor.set_blocked_on("spool: the shards take no more");
  actor.set_flow_control(true);
  EXPECT_EQ(HealthOf(actor), Health::kWaiting);
  EXPECT_TRUE(Collect().healthy());
  actor.set_blocked_on("spool: shard a: connection refused, 3 items");
  actor.set_flow_control(false);
  EXPECT_FALSE(Collect().healthy());
  actor.clear_blocked_on();
  EXPECT_TRUE(Collect().healthy());
  actor.set_trouble("shard a: Connection refused, 3 trajectories wait");
  EXPECT_EQ(HealthOf(actor), Health::kDegraded);
  EXPECT_FALSE(Collect().healthy());
  EXPECT_THAT(SummaryLine(Collect()),
              HasSubstr("actor-0 degraded (shard a: Connection refused, 3 trajectories wait)"));
  actor.clear_trouble();
  shard_.status().set_blocked_on("disk: no space left");
  shard_.status().set_flow_control(false);
  EXPECT_EQ(HealthOf(shard_.status()), Health::kBlocked);
  const v1::ClusterStatus status = Collect();
  EXPECT_FALSE(status.healthy());
  EXPECT_THAT(SummaryLine(status), HasSubstr("a blocked (disk: no space left)"));
}

TEST_F(ClusterStatus, ActorsThatAreHeardOfCount) {
  v1::RoleStatus& learner = learner_.status();
  learner.mutable_peers(0)->set_silent_seconds(11);
  const v1::ClusterStatus status = Collect();
  EXPECT_FALSE(status.healthy());
  EXPECT_THAT(SummaryLine(status), HasSubstr("0 actors, 0.0 games/s"));
  EXPECT_THAT(SummaryLine(status), HasSubstr("actor-0 silent"));
  // The actor's successor under another name.
  learner.add_peers()->set_role(v1::RoleStatus::ACTOR);
  EXPECT_TRUE(Collect().healthy());
  learner.mutable_peers(1)->set_blocked_on("replay");
  EXPECT_FALSE(Collect().healthy());
  learner.clear_peers();
  EXPECT_THAT(SummaryLine(Collect()), HasSubstr("too few actors"));
  config_.mutable_actor()->set_expected(0);
  EXPECT_TRUE(Collect().healthy());
}

}  // namespace
}  // namespace mallocmuzero
