#include "replay/client/priority_writer.h"

#include <memory>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/metrics.h"
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
  constexpr absl::Duration kTimeout = absl::Seconds(1);
  PriorityWriter writer(MakeChannel(shard->address(), *security), security, metrics, kTimeout);
  // Like a learner whose updates take longer than the timeout of a call.
  absl::SleepFor(1.1 * kTimeout);
  writer.Add({v1::UpdatePrioritiesRequest::Update()});
  ASSERT_TRUE(testing::Await(
      [&] { return metrics.sent_priorities->Value() + metrics.dropped_priorities->Value() > 0; }));
  EXPECT_EQ(metrics.sent_priorities->Value(), 1);
}

}  // namespace
}  // namespace mallocmuzero
