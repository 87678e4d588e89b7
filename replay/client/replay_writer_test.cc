#include "replay/client/replay_writer.h"

#include <prometheus/registry.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/message_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/client/shard_address.h"
#include "replay/service/replay_shard.h"
#include "replay/testing/shards.h"
#include "replay/wire/item.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::HasSubstr;

std::string IdOf(uint64_t index) { return MakeTrajectory(index, 1).id(); }

// Returns the path of a folder for this test, which does not exist yet.
std::string TestFolder() {
  const std::string folder =
      absl::StrCat(::testing::TempDir(), "/replay_writer_",
                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  std::filesystem::remove_all(folder);
  return folder;
}

TEST(ReplayWriter, WhatItWritesIsStored) {
  const auto shard = StartShard(ShardConfig());
  const auto writer = StartWriter({.shards = {AddressOf(*shard)}});
  for (uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(writer->Write(MakeTrajectory(i, 10)));
  EXPECT_EQ(writer->Close(absl::Seconds(30)), absl::OkStatus());
  EXPECT_EQ(writer->acknowledged(), 50);
  EXPECT_EQ(writer->spooled_bytes(), 0);
  const v1::ReplayStats stats = shard->Stats();
  EXPECT_EQ(stats.items(), 50);
  EXPECT_EQ(stats.positions(), 500);
}

// The configuration of a shard that, after its first item, holds inserts back until draws are made.
v1::ReplayShard ConfigThatHoldsBack() {
  v1::ReplayShard config = ShardConfig();
  config.mutable_rate_limit()->set_min_positions(1);
  config.mutable_rate_limit()->set_samples_per_insert(1);
  config.mutable_rate_limit()->set_error_buffer(1);
  return config;
}

TEST(ReplayWriter, TellsAShardThatHoldsBackFromOneThatIsAway) {
  auto shard = StartShard(ConfigThatHoldsBack());
  const auto first = StartWriter({.shards = {AddressOf(*shard)}});
  ASSERT_TRUE(first->Write(MakeTrajectory(0, 10)));
  ASSERT_TRUE(Await([&] { return first->acknowledged() == 1; }));
  // The shard never answers for the items of this writer.
  const auto writer = StartWriter({.shards = {AddressOf(*shard)}});
  for (uint64_t i = 1; i < 5; ++i) ASSERT_TRUE(writer->Write(MakeTrajectory(i, 10)));
  EXPECT_TRUE(Await([&] { return writer->held_back() == 4; }));
  EXPECT_EQ(writer->trouble(), "");
  shard = nullptr;
  EXPECT_TRUE(Await([&] { return !writer->trouble().empty(); }));
  EXPECT_EQ(writer->held_back(), 0);
  EXPECT_GT(writer->spooled_bytes(), 0);
  EXPECT_EQ(writer->acknowledged(), 0);
}

// The value of a family's only metric.
double ValueOf(const prometheus::Registry& registry, const std::string& name) {
  for (const prometheus::MetricFamily& family : registry.Collect()) {
    if (family.name != name) continue;
    const prometheus::ClientMetric& metric = family.metric.front();
    return metric.counter.value + metric.gauge.value;
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

TEST(ReplayWriter, AttemptsToReachAShardThatHasNeverBeenThereAreNoLostStreams) {
  constexpr char kConnected[] = "mallocmuzero_replay_client_insert_stream_connected";
  constexpr char kLost[] = "mallocmuzero_replay_client_lost_insert_streams_total";
  constexpr char kResent[] = "mallocmuzero_replay_client_resent_items_total";
  auto shard = StartShard(ConfigThatHoldsBack());
  const ShardAddress address = AddressOf(*shard);
  shard = nullptr;
  prometheus::Registry registry;
  const auto writer = StartWriter({.shards = {address}, .registry = &registry});
  ASSERT_TRUE(writer->Write(MakeTrajectory(1, 10)));
  ASSERT_TRUE(Await([&] { return !writer->trouble().empty(); }));
  EXPECT_EQ(ValueOf(registry, kLost), 0);
  EXPECT_EQ(ValueOf(registry, kResent), 0);
  v1::ReplayShard config = ConfigThatHoldsBack();
  config.set_address(address.address);
  shard = StartShard(config);
  ASSERT_TRUE(Await([&] { return writer->acknowledged() == 1; }));
  EXPECT_EQ(ValueOf(registry, kConnected), 1);
  shard = nullptr;
  EXPECT_TRUE(Await([&] { return ValueOf(registry, kLost) == 1; }));
  EXPECT_EQ(ValueOf(registry, kConnected), 0);
}

TEST(ReplayWriter, AMetricHasTheBytesOfItsSpoolFileFromTheStart) {
  const std::string folder = TestFolder();
  const std::vector<ShardAddress> shards = {{.name = "away", .address = "127.0.0.1:1"}};
  {
    const auto writer = StartWriter({.shards = shards, .spool_dir = folder});
    EXPECT_TRUE(writer->Write(MakeTrajectory(1, 10)));
    EXPECT_EQ(writer->Close(absl::ZeroDuration()), absl::OkStatus());
  }
  prometheus::Registry registry;
  const auto writer = StartWriter({.shards = shards, .spool_dir = folder, .registry = &registry});
  EXPECT_GT(writer->spooled_bytes(), 0);
  EXPECT_EQ(ValueOf(registry, "mallocmuzero_replay_client_spooled_bytes"),
            static_cast<double>(writer->spooled_bytes()));
}

TEST(ReplayWriter, ASecondInsertOfAnIdIsAcknowledgedAndChangesNothing) {
  const auto shard = StartShard(ShardConfig());
  const auto writer = StartWriter({.shards = {AddressOf(*shard)}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(writer->Write(MakeTrajectory(7, 10)));
  EXPECT_EQ(writer->Close(absl::Seconds(30)), absl::OkStatus());
  EXPECT_EQ(writer->acknowledged(), 3);
  EXPECT_EQ(shard->Stats().items(), 1);
  EXPECT_EQ(shard->Stats().duplicate_items(), 2);
  EXPECT_EQ(shard->Stats().inserted_positions(), 10);
}

TEST(ReplayWriter, EachShardGetsTheIdsThatNameIt) {
  const auto a = StartShard(ShardConfig("a"));
  const auto b = StartShard(ShardConfig("b"));
  const auto writer = StartWriter({.shards = {AddressOf(*a, "a"), AddressOf(*b, "b")}});
  std::set<std::string> of_a;
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(writer->Write(MakeTrajectory(i, 2)));
    if (ShardOfId(IdOf(i), 2) == 0) of_a.insert(IdOf(i));
  }
  EXPECT_EQ(writer->Close(absl::Seconds(30)), absl::OkStatus());
  EXPECT_EQ(ListIds(a->address()), of_a);
  EXPECT_EQ(a->Stats().items() + b->Stats().items(), 100);
  // 100 fair coins give fewer than 25 heads with a chance below 1e-6.
  EXPECT_GT(a->Stats().items(), 25);
  EXPECT_GT(b->Stats().items(), 25);
}

TEST(ReplayWriter, WhatIsAcknowledgedIsWrittenDown) {
  const std::string log = TestFolder() + "/audit/writer.ids";
  const auto shard = StartShard(ShardConfig());
  for (uint64_t i = 0; i < 2; ++i) {
    const auto writer = StartWriter({.shards = {AddressOf(*shard)}, .acknowledged_log = log});
    EXPECT_TRUE(writer->Write(MakeTrajectory(i, 10)));
    EXPECT_EQ(writer->Close(absl::Seconds(30)), absl::OkStatus());
  }
  {
    // There is no shard to acknowledge it.
    const auto writer = StartWriter(
        {.shards = {{.name = "away", .address = "127.0.0.1:1"}}, .acknowledged_log = log});
    EXPECT_TRUE(writer->Write(MakeTrajectory(2, 10)));
    EXPECT_FALSE(writer->Close(absl::ZeroDuration()).ok());
  }
  std::ifstream file(log);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(text, absl::StrCat(absl::BytesToHexString(IdOf(0)), "\n",
                               absl::BytesToHexString(IdOf(1)), "\n"));
}

TEST(ReplayWriter, SaysSoIfWhatIsAcknowledgedCannotBeWrittenDown) {
  const auto shard = StartShard(ShardConfig());
  const auto writer = StartWriter({.shards = {AddressOf(*shard)}, .acknowledged_log = "/dev/full"});
  EXPECT_EQ(writer->audit(), absl::OkStatus());
  EXPECT_TRUE(writer->Write(MakeTrajectory(0, 10)));
  EXPECT_EQ(writer->Close(absl::Seconds(30)), absl::OkStatus());
  EXPECT_EQ(shard->Stats().items(), 1);
  EXPECT_EQ(writer->audit(),
            absl::ResourceExhaustedError("/dev/full: cannot write: No space left on device"));
}

TEST(ReplayWriter, AShardThatIsAwayHoldsUpNoOther) {
  const auto here = StartShard(ShardConfig("here"));
  const auto writer = StartWriter(
      {.shards = {AddressOf(*here, "here"), {.name = "away", .address = "127.0.0.1:1"}}});
  uint64_t of_here = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(writer->Write(MakeTrajectory(i, 2)));
    of_here += ShardOfId(IdOf(i), 2) == 0 ? 1 : 0;
  }
  EXPECT_TRUE(Await([&] { return writer->acknowledged() == of_here; }));
  EXPECT_TRUE(Await([&] { return !writer->trouble().empty(); }));
  EXPECT_THAT(writer->trouble(), HasSubstr("shard away"));
  EXPECT_THAT(writer->trouble(), HasSubstr(absl::StrCat(100 - of_here, " trajectories wait")));
}

TEST(ReplayWriter, DeliversOnceWhenTheShardIsReplacedByAnother) {
  v1::ReplayShard config = ShardConfig();
  auto shard = StartShard(config);
  config.set_address(shard->address());
  const auto writer = StartWriter({.shards = {AddressOf(*shard)}});
  uint64_t next = 0;
  for (int restart = 0; restart < 3; ++restart) {
    shard.reset();
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(writer->Write(MakeTrajectory(next++, 5)));
    shard = StartShard(config);
    ASSERT_NE(shard, nullptr);
    EXPECT_TRUE(Await([&] { return writer->acknowledged() == next; }));
    EXPECT_EQ(shard->Stats().items(), 20);  // a shard in mode MEMORY starts empty
    EXPECT_EQ(shard->Stats().duplicate_items(), 0);
  }
}

TEST(ReplayWriter, BlocksWhileTheSpoolIsFullAndSaysSo) {
  v1::ReplayShard config = ShardConfig();
  const auto writer =
      StartWriter({.shards = {{.name = "away", .address = "127.0.0.1:1"}}, .spool_bytes = 1000});
  std::thread producer([&] {
    uint64_t i = 0;
    while (writer->Write(MakeTrajectory(i++, 50))) {
    }
  });
  EXPECT_TRUE(Await([&] { return writer->blocked(); }));
  EXPECT_LE(writer->spooled_bytes(), 1000);
  EXPECT_GT(writer->spooled_bytes(), 0);
  EXPECT_EQ(writer->Close(absl::ZeroDuration()).code(), absl::StatusCode::kUnavailable);
  producer.join();
}

TEST(ReplayWriter, OneTrajectoryAboveTheSpoolsSizeIsTaken) {
  const auto shard = StartShard(ShardConfig());
  const auto writer = StartWriter({.shards = {AddressOf(*shard)}, .spool_bytes = 1});
  EXPECT_TRUE(writer->Write(MakeTrajectory(1, 100)));
  EXPECT_TRUE(writer->Write(MakeTrajectory(2, 100)));
  EXPECT_EQ(writer->Close(absl::Seconds(30)), absl::OkStatus());
  EXPECT_EQ(writer->acknowledged(), 2);
}

TEST(ReplayWriter, WhatIsLeftAtTheEndIsDeliveredByTheNextOfItsName) {
  const std::string folder = TestFolder();
  const ReplayWriterOptions options{
      .shards = {{.name = "a", .address = "127.0.0.1:1"}}, .spool_dir = folder, .name = "actor-1"};
  size_t left = 0;
  {
    const auto writer = StartWriter(options);
    for (uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(writer->Write(MakeTrajectory(i, 5)));
    EXPECT_EQ(writer->found_in_spool(), 0);
    EXPECT_EQ(writer->Close(absl::ZeroDuration()), absl::OkStatus());
    left = writer->left_in_spool();
  }
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(folder, "/actor-1.spool")));
  EXPECT_EQ(left, 10);
  const auto shard = StartShard(ShardConfig());
  ReplayWriterOptions next = options;
  next.shards = {AddressOf(*shard)};
  const auto writer = StartWriter(next);
  EXPECT_EQ(writer->found_in_spool(), 10);
  EXPECT_TRUE(Await([&] { return writer->acknowledged() == 10; }));
  EXPECT_EQ(shard->Stats().items(), 10);
  // If the file stayed, a later writer would send the games again after the shard has forgotten
  // their ids.
  EXPECT_TRUE(
      Await([&] { return !std::filesystem::exists(absl::StrCat(folder, "/actor-1.spool")); }));
}

TEST(ReplayWriter, WithASpoolFileACloseDoesNotWaitForAShardThatIsAway) {
  const auto shard = StartShard(ShardConfig());
  const auto writer =
      StartWriter({.shards = {AddressOf(*shard), {.name = "away", .address = "127.0.0.1:1"}},
                   .spool_dir = TestFolder(),
                   .name = "actor-1"});
  for (uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(writer->Write(MakeTrajectory(i, 5)));
  ASSERT_TRUE(Await([&] { return writer->acknowledged() > 0; }));
  EXPECT_EQ(writer->Close(absl::Hours(1)), absl::OkStatus());
  EXPECT_GT(writer->left_in_spool(), 0);
  EXPECT_EQ(writer->acknowledged() + writer->left_in_spool(), 50);
}

TEST(ReplayWriter, WithoutASpoolFileACloseWaitsForAShardThatIsAway) {
  auto shard = StartShard(ShardConfig());
  const ShardAddress address = AddressOf(*shard);
  shard = nullptr;
  const auto writer = StartWriter({.shards = {address}});
  EXPECT_TRUE(writer->Write(MakeTrajectory(1, 5)));
  std::atomic<bool> closed = false;
  absl::Status status;
  std::thread closer([&] {
    status = writer->Close(absl::Hours(1));
    closed = true;
  });
  EXPECT_TRUE(Await([&] { return !writer->trouble().empty(); }));
  EXPECT_FALSE(closed);  // it knows that the shard is away, and waits
  v1::ReplayShard config = ShardConfig();
  config.set_address(address.address);
  shard = StartShard(config);
  closer.join();
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(writer->acknowledged(), 1);
}

TEST(ReplayWriter, ASpoolIsOfOneProcessAtATime) {
  const ReplayWriterOptions options{.shards = {{.name = "a", .address = "127.0.0.1:1"}},
                                    .spool_dir = TestFolder(),
                                    .name = "actor-1"};
  auto writer = StartWriter(options);
  const absl::Status second = ReplayWriter::Start(options).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()), HasSubstr("/actor-1.spool: another process"));
  writer = nullptr;
  EXPECT_NE(StartWriter(options), nullptr);
}

TEST(ReplayWriter, ASpoolFolderThatCannotBeWrittenIsKnownAtTheStart) {
  const absl::Status status =
      ReplayWriter::Start({.shards = {{.name = "a", .address = "a:1"}}, .spool_dir = "/proc/spool"})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("spool_dir: /proc/spool: "));
}

TEST(ReplayWriter, WhatIsTakenWhileItClosesIsInTheSpoolFile) {
  const std::string folder = TestFolder();
  for (int round = 0; round < 30; ++round) {
    const auto writer = StartWriter({.shards = {{.name = "away", .address = "127.0.0.1:1"}},
                                     .spool_dir = folder,
                                     .name = absl::StrCat("actor-", round)});
    std::atomic<uint64_t> taken = 0;
    std::vector<std::thread> players;
    for (uint64_t p = 0; p < 4; ++p) {
      players.emplace_back([&, p] {
        for (uint64_t i = 0; writer->Write(MakeTrajectory(p << 32 | i, 1)); ++i) ++taken;
      });
    }
    EXPECT_TRUE(Await([&] { return taken > 0; }));
    EXPECT_EQ(writer->Close(absl::ZeroDuration()), absl::OkStatus());
    for (std::thread& player : players) player.join();
    const auto spool =
        ReadMessage<v1::ReplaySpool>(absl::StrCat(folder, "/actor-", round, ".spool"));
    ASSERT_TRUE(spool.ok()) << spool.status();
    EXPECT_EQ(spool->requests_size(), taken);
  }
}

TEST(ReplayWriter, ReplacesWhatIsStoredAndPutsNothingBack) {
  const auto shard = StartShard(ShardConfig());
  const auto writer = StartWriter({.shards = {AddressOf(*shard)}});
  EXPECT_TRUE(writer->Write(MakeTrajectory(1, 10)));
  EXPECT_TRUE(Await([&] { return writer->acknowledged() == 1; }));
  const uint64_t bytes = shard->Stats().bytes();
  v1::Trajectory again = MakeTrajectory(1, 10);
  for (int i = 0; i < 30; ++i) again.add_policies(0.37F * static_cast<float>(i));
  EXPECT_TRUE(writer->Replace(again, "a"));
  EXPECT_TRUE(writer->Replace(MakeTrajectory(2, 10), "a"));
  EXPECT_EQ(writer->Close(absl::Seconds(30)), absl::OkStatus());
  EXPECT_EQ(writer->acknowledged(), 3);
  EXPECT_GT(shard->Stats().bytes(), bytes);
  EXPECT_EQ(ListIds(shard->address()), std::set<std::string>({IdOf(1)}));
}

}  // namespace
}  // namespace mallocmuzero
