// An actor without a cluster. The tests of the role learner have actors that play.

#include "actor/role/actor_role.h"

#include <prometheus/registry.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "rpc/security.h"

namespace mallocmuzero {
namespace {

TEST(ActorRole, StillNamesItsPeersAfterItsStop) {
  v1::ClusterConfig config;
  config.mutable_learner()->set_address("127.0.0.1:1");
  v1::ReplayShard& shard = *config.add_replay();
  shard.set_name("shard");
  shard.set_address("127.0.0.1:1");
  config.mutable_actor()->set_threads(1);
  config.mutable_actor()->set_games_in_flight(1);
  config.mutable_actor()->set_spool_bytes(1 << 20);
  prometheus::Registry registry;
  const auto role =
      ActorRole::Start(config, 0, /*reanalyse=*/false, std::make_shared<Security>(), registry);
  ASSERT_TRUE(role.ok()) << role.status();
  EXPECT_EQ((*role)->Stop(absl::ZeroDuration()), absl::OkStatus());
  ASSERT_FALSE((*role)->peers().empty());
  EXPECT_EQ((*role)->peers().back().name, "the learner on 127.0.0.1:1");
}

}  // namespace
}  // namespace mallocmuzero
