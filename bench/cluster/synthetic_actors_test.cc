#include "bench/cluster/synthetic_actors.h"

#include <sys/socket.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "learner/role/testing/small_cluster.h"
#include "rpc/testing/await.h"
#include "rpc/testing/tcp_socket.h"

namespace mallocmuzero::bench {
namespace {

using mallocmuzero::testing::Await;
using mallocmuzero::testing::TcpSocket;
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

// A server that takes connections and says nothing, like one that is overloaded.
class SilentServer {
 public:
  SilentServer() {
    EXPECT_TRUE(socket_.Bind());
    EXPECT_EQ(listen(socket_.fd(), 16), 0);
  }

  std::string address() const { return socket_.address(); }

 private:
  TcpSocket socket_;
};

TEST_F(Cluster, CountsTheDeadlineAsTheTimeOfSyntheticReportsThatMissIt) {
  StartShard();
  const SilentServer learner;
  config_.mutable_learner()->set_address(learner.address());
  auto actors = SyntheticActors::Start(config_, {.actors = 2, .threads = 1}, security_);
  ASSERT_TRUE(actors.ok()) << actors.status();
  // The deadline of a report is five seconds.
  const auto counted = [&] { return (*actors)->stats().report_p50_ms >= 4'900; };
  EXPECT_TRUE(Await(counted, absl::Seconds(20)));
  EXPECT_EQ((*actors)->stats().reports, 0);
  EXPECT_GE((*actors)->stats().failed_reports, 1);
}

}  // namespace
}  // namespace mallocmuzero::bench
