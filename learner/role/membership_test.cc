#include "learner/role/membership.h"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/shards.pb.h"
#include "replay/client/membership_client.h"
#include "replay/client/shard_address.h"
#include "rpc/security.h"
#include "rpc/server.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;

constexpr absl::Duration kLong = absl::Seconds(30);

v1::ChangeShardsRequest Adding(const std::string& name, int port) {
  v1::ChangeShardsRequest request;
  request.mutable_add()->set_name(name);
  request.mutable_add()->set_address(absl::StrCat("127.0.0.1:", port));
  return request;
}

TEST(LearnersMembership, TheLastListThatItTellsIsTheNewest) {
  const std::string folder = ::testing::TempDir() + "/membership";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  v1::ClusterConfig config;
  config.mutable_learner()->set_run_dir(folder);
  config.add_replay()->set_name("a");
  config.mutable_replay(0)->set_address("127.0.0.1:7001");
  const auto security = std::make_shared<const Security>();
  const auto opened = Membership::Open(config, 0, security);
  ASSERT_TRUE(opened.ok()) << opened.status();
  Membership& membership = **opened;

  // The first change is slow: it is not taken over before the second one, if that comes meanwhile.
  absl::Mutex mutex;
  std::vector<ShardAddress> last;
  std::atomic<int> begun = 0;
  std::atomic<bool> second_done = false;
  membership.Connect([] { return absl::OkStatus(); },
                     [&](const std::vector<ShardAddress>& shards) {
                       const bool is_first = begun++ == 0;
                       if (is_first) Await([&] { return second_done.load(); }, absl::Seconds(1));
                       const absl::MutexLock lock(&mutex);
                       last = shards;
                       second_done = !is_first;
                     });
  const auto server =
      RpcServer::Start({.address = "127.0.0.1:0", .security = security, .services = {&membership}});
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string& address = (*server)->address();
  std::thread first(
      [&] { EXPECT_TRUE(ChangeShards(address, *security, Adding("b", 7002), kLong).ok()); });
  EXPECT_TRUE(Await([&] { return begun == 1; }));
  EXPECT_TRUE(ChangeShards(address, *security, Adding("c", 7003), kLong).ok());
  first.join();
  const absl::MutexLock lock(&mutex);
  EXPECT_EQ(last.size(), 3);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace mallocmuzero
