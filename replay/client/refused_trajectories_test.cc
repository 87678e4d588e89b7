// Trajectories and options that a writer or its shards refuse.

#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/trajectory.pb.h"
#include "replay/client/replay_writer.h"
#include "replay/client/shard_address.h"
#include "replay/service/replay_shard.h"
#include "replay/testing/shards.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;

TEST(ReplayWriter, ARefusedTrajectoryIsDroppedAndTheOthersAreStored) {
  // The shard holds at most 15 positions, so it can never hold a game of 20.
  const auto shard = StartShard(ShardConfig("a", /*max_positions=*/15));
  const auto writer = StartWriter({.shards = {AddressOf(*shard)}});
  EXPECT_TRUE(writer->Write(MakeTrajectory(1, 5)));
  EXPECT_TRUE(writer->Write(MakeTrajectory(2, 20)));
  EXPECT_TRUE(writer->Write(MakeTrajectory(3, 5)));
  EXPECT_EQ(writer->Close(absl::Seconds(30)), absl::OkStatus());
  EXPECT_EQ(writer->acknowledged(), 2);
  EXPECT_EQ(writer->refused(), 1);
  EXPECT_EQ(ListIds(shard->address()),
            std::set<std::string>({MakeTrajectory(1, 1).id(), MakeTrajectory(3, 1).id()}));
}

TEST(ReplayWriter, TakesNoTrajectoryThatNoShardWouldTake) {
  const auto writer = StartWriter({.shards = {{.name = "a", .address = "127.0.0.1:1"}}});
  v1::Trajectory trajectory = MakeTrajectory(1, 5);
  trajectory.set_id("short");
  EXPECT_FALSE(writer->Write(trajectory));
  EXPECT_FALSE(writer->Write(MakeTrajectory(1, 0)));
  EXPECT_FALSE(writer->Write(MakeTrajectory(1, kMaxItemPositions + 1)));
  // Too many bytes for its five decisions.
  trajectory = MakeTrajectory(1, 5);
  for (int i = 0; i < 200'000; ++i) trajectory.add_rewards(0);
  EXPECT_FALSE(writer->Write(trajectory));
  EXPECT_EQ(writer->spooled_bytes(), 0);
}

// A connection would end at such an item, and the writer would send it again for ever.
TEST(ReplayWriter, TakesNoTrajectoryThatIsTooLargeForAnItem) {
  const auto writer = StartWriter({.shards = {{.name = "a", .address = "127.0.0.1:1"}}});
  v1::Trajectory trajectory = MakeTrajectory(1, kMaxItemPositions);
  std::mt19937_64 random(1);  // its doubles can hardly be compressed
  while (trajectory.rewards_size() * sizeof(double) < 2 * kMaxPayloadBytes) {
    trajectory.add_rewards(std::uniform_real_distribution<double>()(random));
  }
  EXPECT_FALSE(writer->Write(trajectory));
  EXPECT_EQ(writer->spooled_bytes(), 0);
}

TEST(ReplayWriter, RefusesOptionsThatCannotBe) {
  const auto fails = [](ReplayWriterOptions options) {
    return std::string(ReplayWriter::Start(std::move(options)).status().message());
  };
  const std::vector<ShardAddress> shards = {{.name = "a", .address = "127.0.0.1:1"}};
  EXPECT_THAT(fails({}), HasSubstr("at least one"));
  EXPECT_THAT(fails({.shards = shards, .spool_bytes = 0}), HasSubstr("spool_bytes"));
  EXPECT_THAT(fails({.shards = shards, .name = "../x"}), HasSubstr("name"));
}

}  // namespace
}  // namespace mallocmuzero
