#include "replay/client/priority_writer.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/metrics.h"
#include "replay/client/replay_writer.h"
#include "replay/client/shard_address.h"
#include "replay/service/replay_shard.h"
#include "replay/testing/shards.h"
#include "rpc/channel.h"
#include "rpc/security.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

TEST(PriorityWriter, AnUpdateThatComesLateHasAllItsTime) {
  const auto shard = StartShard(ShardConfig());
  const auto security = std::make_shared<const Security>();
  SamplerMetrics metrics(nullptr);
  constexpr absl::Duration kTimeout = absl::Seconds(2);
  const std::shared_ptr<grpc::Channel> channel = MakeChannel(shard->address(), *security);
  // A connection may take longer than a call on a busy machine.
  ASSERT_TRUE(
      channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::minutes(1)));
  PriorityWriter writer(channel, security, metrics, kTimeout);
  // Like a learner whose updates take longer than the timeout of a call.
  absl::SleepFor(1.1 * kTimeout);
  writer.Add({v1::UpdatePrioritiesRequest::Update()});
  ASSERT_TRUE(testing::Await(
      [&] { return metrics.sent_priorities->Value() + metrics.dropped_priorities->Value() > 0; }));
  EXPECT_EQ(metrics.sent_priorities->Value(), 1);
}

TEST(PriorityWriter, OfTooManyUpdatesTheOldestAreDropped) {
  const auto shard = StartShard(ShardConfig());
  {
    const auto games = ReplayWriter::Start({.shards = {AddressOf(*shard)}});
    ASSERT_TRUE(games.ok()) << games.status();
    ASSERT_TRUE((*games)->Write(MakeTrajectory(1, 1)));
    ASSERT_EQ((*games)->Close(absl::Seconds(30)), absl::OkStatus());
  }
  const auto security = std::make_shared<const Security>();
  SamplerMetrics metrics(nullptr);
  PriorityWriter writer(MakeChannel(shard->address(), *security), security, metrics,
                        absl::Seconds(30));
  // 65,536 updates may wait. The last one makes a difference only if it is among them.
  constexpr size_t kWaiting = 65536;
  std::vector<v1::UpdatePrioritiesRequest::Update> updates(kWaiting + 2);
  updates.back().set_id(MakeTrajectory(1, 1).id());
  updates.back().set_priority(9);
  writer.Add(std::move(updates));
  ASSERT_TRUE(testing::Await([&] { return metrics.sent_priorities->Value() == kWaiting; }));
  EXPECT_EQ(metrics.dropped_priorities->Value(), 2);
  EXPECT_EQ(shard->Stats().total_weight(), 9);
}

}  // namespace
}  // namespace mallocmuzero
