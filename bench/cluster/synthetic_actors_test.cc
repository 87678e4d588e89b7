#include "bench/cluster/synthetic_actors.h"

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "learner/role/testing/small_cluster.h"
#include "rpc/testing/await.h"

namespace mallocmuzero::bench {
namespace {

using mallocmuzero::testing::Await;
using Cluster = mallocmuzero::testing::SmallCluster;

TEST_F(Cluster, IsLoadedBySyntheticActorsAsByRealOnes) {
  StartShard();
  StartLearner();
  auto actors = SyntheticActors::Start(
      config_, {.actors = 20, .games_per_second = 10, .threads = 1}, security_);
  ASSERT_TRUE(actors.ok()) << actors.status();
  // The learner learns from their games and refuses none of their reports.
  EXPECT_TRUE(Learns(8));
  EXPECT_TRUE(Await([&] { return LearnerStatus().peers_size() == 20; }));
  EXPECT_TRUE(Await([&] {
    const SyntheticStats stats = (*actors)->stats();
    return stats.connected == 20 && stats.acknowledged > 100 && stats.versions >= 20 &&
           stats.fetched_bytes > 0 && stats.report_p99_ms > 0;
  }));
  EXPECT_EQ(LearnerStatus().figures().at("refused_rows"), 0);
  EXPECT_EQ((*actors)->stats().last_error, "");
  EXPECT_EQ((*actors)->Stop(absl::Seconds(5)), absl::OkStatus());
}

}  // namespace
}  // namespace mallocmuzero::bench
