// Games that replace others, and that wait for their shard.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/replay_writer.h"
#include "replay/client/shard_address.h"
#include "replay/service/replay_shard.h"
#include "replay/testing/shards.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;

std::unique_ptr<ReplayWriter> WriterOf(ReplayWriterOptions options) {
  absl::StatusOr<std::unique_ptr<ReplayWriter>> writer = ReplayWriter::Start(std::move(options));
  EXPECT_TRUE(writer.ok()) << writer.status();
  return writer.ok() ? *std::move(writer) : nullptr;
}

TEST(WaitingReplacements, AreNotMixedUpWithNewGames) {
  auto shard = StartShard(ShardConfig());
  v1::ReplayShard config = ShardConfig();
  config.set_address(shard->address());
  const auto writer = WriterOf({.shards = {AddressOf(*shard)}});
  shard = nullptr;
  // All wait for the shard, so that they could go in one request.
  EXPECT_TRUE(writer->Write(MakeTrajectory(1, 10)));
  EXPECT_TRUE(writer->Replace(MakeTrajectory(2, 10), "a"));
  EXPECT_TRUE(writer->Write(MakeTrajectory(3, 10)));
  shard = StartShard(config);
  EXPECT_EQ(writer->Close(absl::Seconds(30)), absl::OkStatus());
  EXPECT_EQ(ListIds(shard->address()),
            std::set<std::string>({MakeTrajectory(1, 1).id(), MakeTrajectory(3, 1).id()}));
}

TEST(WaitingReplacements, StayReplacementsUntilAllOfTheSpoolIsSettled) {
  const std::string folder = ::testing::TempDir() + "/waiting_replacements_test";
  std::filesystem::remove_all(folder);
  const ShardAddress away = {.name = "b", .address = "127.0.0.1:1"};
  ReplayWriterOptions options{.shards = {{.name = "a", .address = "127.0.0.1:1"}, away},
                              .spool_dir = folder,
                              .name = "actor-1"};
  {
    const auto writer = WriterOf(options);
    for (uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(writer->Replace(MakeTrajectory(i, 5), "a"));
    EXPECT_TRUE(writer->Replace(MakeTrajectory(3, 5), "b"));
    EXPECT_EQ(writer->Close(absl::ZeroDuration()), absl::OkStatus());
  }
  const auto shard = StartShard(ShardConfig());
  options.shards = {AddressOf(*shard), away};
  const auto writer = WriterOf(options);
  ASSERT_TRUE(Await([&] { return writer->acknowledged() == 3; }));
  // The shard has no such games, so there is nothing to replace.
  EXPECT_EQ(shard->Stats().items(), 0);
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(folder, "/actor-1.spool")));
}

}  // namespace
}  // namespace mallocmuzero
