#include "bench/cluster/synthetic_actors.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
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

// A server that takes connections and says nothing, like one that is overloaded.
class SilentServer {
 public:
  SilentServer() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(socket_, any, size), 0);
    EXPECT_EQ(listen(socket_, 16), 0);
    EXPECT_EQ(getsockname(socket_, any, &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }
  ~SilentServer() { close(socket_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  const std::string& address() const { return address_; }

 private:
  const int socket_;
  std::string address_;
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
