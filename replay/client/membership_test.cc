// Writers and samplers whose list of shards changes.

#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "replay/client/replay_sampler.h"
#include "replay/client/replay_writer.h"
#include "replay/client/shard_roster.h"
#include "replay/service/replay_shard.h"
#include "replay/testing/shards.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr absl::Duration kLong = absl::Seconds(30);

// No shard listens here.
const ShardAddress kAway = {.name = "away", .address = "127.0.0.1:1"};

// The ids that both shards store, and that one of them stores.
std::set<std::string> Both(const ReplayShard& a, const ReplayShard& b) {
  std::set<std::string> both;
  const std::set<std::string> of_b = ListIds(b.address());
  for (const std::string& id : ListIds(a.address())) {
    if (of_b.count(id) > 0) both.insert(id);
  }
  return both;
}

TEST(Membership, ANewShardGetsNewGamesOnly) {
  const auto a = StartShard(ShardConfig("a"));
  const auto b = StartShard(ShardConfig("b"));
  const auto writer = StartWriter({.shards = {AddressOf(*a, "a")}});
  for (uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(writer->Write(MakeTrajectory(i, 2)));
  EXPECT_TRUE(Await([&] { return writer->acknowledged() == 20; }));
  writer->SetRoster(RosterOf({AddressOf(*a, "a"), AddressOf(*b, "b")}));
  EXPECT_EQ(writer->peers().size(), 2);
  for (uint64_t i = 20; i < 60; ++i) EXPECT_TRUE(writer->Write(MakeTrajectory(i, 2)));
  EXPECT_EQ(writer->Close(kLong), absl::OkStatus());
  EXPECT_EQ(a->Stats().items() + b->Stats().items(), 60);
  EXPECT_GT(b->Stats().items(), 5);
  EXPECT_EQ(Both(*a, *b).size(), 0);
}

TEST(Membership, GamesOfAShardThatLeavesGoToItsHeirs) {
  const auto a = StartShard(ShardConfig("a"));
  const auto writer = StartWriter({.shards = {AddressOf(*a, "a"), kAway}});
  for (uint64_t i = 0; i < 40; ++i) EXPECT_TRUE(writer->Write(MakeTrajectory(i, 2)));
  EXPECT_TRUE(Await([&] { return !writer->trouble().empty(); }));
  const v1::ShardRoster two = RosterOf({AddressOf(*a, "a"), kAway});
  writer->SetRoster(*BeginRemoval(two, "away"));
  EXPECT_TRUE(Await([&] { return writer->acknowledged() == 40; }));
  EXPECT_EQ(a->Stats().items(), 40);
  EXPECT_EQ(writer->trouble(), "");
  EXPECT_EQ(writer->Close(kLong), absl::OkStatus());
}

// The writer's gauge of its connection to each shard.
std::map<std::string, double> Connected(const prometheus::Registry& registry) {
  std::map<std::string, double> connected;
  for (const prometheus::MetricFamily& family : registry.Collect()) {
    if (family.name != "mallocmuzero_replay_client_insert_stream_connected") continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      connected[metric.label.front().value] = metric.gauge.value;
    }
  }
  return connected;
}

TEST(Membership, AShardThatHasLeftIsNoShardThatTheWriterCannotReach) {
  const auto a = StartShard(ShardConfig("a"));
  const auto b = StartShard(ShardConfig("b"));
  prometheus::Registry registry;
  const v1::ShardRoster two = RosterOf({AddressOf(*a, "a"), AddressOf(*b, "b")});
  const auto writer =
      StartWriter({.shards = {AddressOf(*a, "a"), AddressOf(*b, "b")}, .registry = &registry});
  for (uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(writer->Write(MakeTrajectory(i, 2)));
  EXPECT_TRUE(Await([&] { return writer->acknowledged() == 20; }));
  EXPECT_THAT(Connected(registry), ElementsAre(Pair("a", 1), Pair("b", 1)));
  writer->SetRoster(*BeginRemoval(two, "b"));
  EXPECT_THAT(Connected(registry), ElementsAre(Pair("a", 1)));
  // A shard with another address has the same name, and no connection yet.
  writer->SetRoster(RosterOf({{.name = "a", .address = kAway.address}}));
  EXPECT_THAT(Connected(registry), ElementsAre(Pair("a", 0)));
}

TEST(Membership, AGameStaysWithTheShardThatMayHaveIt) {
  // More shards than before would select another shard for most ids.
  const auto a = StartShard(ShardConfig("a"));
  const auto b = StartShard(ShardConfig("b"));
  const std::string folder = absl::StrCat(::testing::TempDir(), "/membership_spool");
  std::filesystem::remove_all(folder);
  {
    const auto writer = StartWriter({.shards = {kAway}, .spool_dir = folder});
    for (uint64_t i = 0; i < 20; ++i) EXPECT_TRUE(writer->Write(MakeTrajectory(i, 2)));
    writer->SetRoster(RosterOf({kAway, AddressOf(*b, "b")}));
    EXPECT_EQ(writer->Close(absl::ZeroDuration()), absl::OkStatus());
    EXPECT_EQ(writer->left_in_spool(), 20);
  }
  // The next writer knows the shard "away" at another address.
  const auto writer =
      StartWriter({.shards = {AddressOf(*a, "away"), AddressOf(*b, "b")}, .spool_dir = folder});
  EXPECT_TRUE(Await([&] { return writer->acknowledged() == 20; }));
  EXPECT_EQ(a->Stats().items(), 20);
  EXPECT_EQ(writer->Close(kLong), absl::OkStatus());
}

TEST(Membership, ASpooledGameOfAnUnknownShardWaitsForTheList) {
  const auto a = StartShard(ShardConfig("a"));
  const std::string folder = absl::StrCat(::testing::TempDir(), "/membership_unknown");
  std::filesystem::remove_all(folder);
  {
    const auto writer = StartWriter({.shards = {kAway}, .spool_dir = folder});
    EXPECT_TRUE(writer->Write(MakeTrajectory(1, 2)));
    EXPECT_EQ(writer->Close(absl::ZeroDuration()), absl::OkStatus());
  }
  // A configuration from before the shard was added.
  const auto writer = StartWriter({.shards = {AddressOf(*a, "a")}, .spool_dir = folder});
  EXPECT_THAT(writer->trouble(), HasSubstr("shard away: not known until the learner answers"));
  EXPECT_FALSE(Await([&] { return writer->acknowledged() > 0; }, absl::Milliseconds(200)));
  writer->SetRoster(*BeginRemoval(RosterOf({AddressOf(*a, "a"), kAway}), "away"));
  EXPECT_TRUE(Await([&] { return writer->acknowledged() == 1; }));
  EXPECT_EQ(writer->Close(kLong), absl::OkStatus());
}

TEST(Membership, ASpooledGameIsNotForANewShardWithTheNameOfItsOwn) {
  const auto heir = StartShard(ShardConfig("b"));
  const auto fresh = StartShard(ShardConfig("away"));
  const std::string folder = absl::StrCat(::testing::TempDir(), "/membership_name");
  std::filesystem::remove_all(folder);
  {
    const auto writer = StartWriter({.shards = {kAway}, .spool_dir = folder});
    EXPECT_TRUE(writer->Write(MakeTrajectory(1, 2)));
    EXPECT_EQ(writer->Close(absl::ZeroDuration()), absl::OkStatus());
  }
  // The configuration does not say that the shard was removed and another one has its name.
  const auto writer = StartWriter({.shards = {AddressOf(*fresh, "away"), AddressOf(*heir, "b")},
                                   .awaits_roster = true,
                                   .spool_dir = folder});
  EXPECT_THAT(writer->trouble(), HasSubstr("shard away: not known until the learner answers"));
  const v1::ShardRoster two = RosterOf({kAway, AddressOf(*heir, "b")});
  const v1::ShardRoster left = *EndRemoval(*BeginRemoval(two, "away"), "away");
  writer->SetRoster(*AddShard(left, "away", fresh->address()));
  EXPECT_TRUE(Await([&] { return writer->acknowledged() == 1; }));
  EXPECT_EQ(writer->trouble(), "");
  EXPECT_EQ(heir->Stats().items(), 1);
  EXPECT_EQ(fresh->Stats().items(), 0);
  EXPECT_EQ(writer->Close(kLong), absl::OkStatus());
}

TEST(Membership, AShardThatHoldsInsertsBackDoesNotHoldBackTheOthers) {
  v1::ReplayShard config = ShardConfig("a");
  config.mutable_rate_limit()->set_samples_per_insert(1);
  config.mutable_rate_limit()->set_min_positions(1);
  config.mutable_rate_limit()->set_error_buffer(10);
  const auto a = StartShard(config);  // takes no more than a few games, since nobody draws
  const auto b = StartShard(ShardConfig("b"));
  const auto writer = StartWriter({.shards = {AddressOf(*a, "a"), AddressOf(*b, "b")}});
  uint64_t next = 0;
  const auto write = [&] { return writer->Write(MakeTrajectory(next++, 2)); };
  EXPECT_TRUE(Await([&] {
    if (writer->held_back() == 0) write();
    return writer->held_back() > 0 && a->Stats().blocked_inserts() > 0;
  }));
  // After a while, shard a is slow and all new games go to shard b.
  EXPECT_TRUE(Await([&] {
    const size_t held = writer->held_back();
    const uint64_t stored = b->Stats().items();
    for (int i = 0; i < 20; ++i) write();
    return Await([&] { return b->Stats().items() == stored + 20 && writer->held_back() == held; },
                 absl::Milliseconds(300));
  }));
}

TEST(Membership, ASamplerFollowsTheList) {
  const auto a = StartShard(ShardConfig("a"));
  const auto b = StartShard(ShardConfig("b"));
  for (const ReplayShard* shard : {a.get(), b.get()}) {
    const auto writer = StartWriter({.shards = {AddressOf(*shard)}});
    for (uint64_t i = 0; i < 10; ++i) {
      EXPECT_TRUE(writer->Write(MakeTrajectory(shard == a.get() ? i : 100 + i, 5)));
    }
    EXPECT_EQ(writer->Close(kLong), absl::OkStatus());
  }
  const auto sampler = *ReplaySampler::Start({.shards = {AddressOf(*a, "a")}, .prefetch = 8});
  const auto shards_of = [&] {
    std::set<std::string> names;
    const auto drawn = sampler->Draw(v1::PRIORITIZED, 64, kLong);
    EXPECT_TRUE(drawn.ok()) << drawn.status();
    if (!drawn.ok()) return names;
    for (const DrawnPosition& position : *drawn) names.insert(sampler->shard_name(position.shard));
    sampler->UpdatePriorities(*drawn, std::vector<double>(drawn->size(), 1.0));
    return names;
  };
  EXPECT_EQ(shards_of(), std::set<std::string>({"a"}));
  sampler->SetShards({AddressOf(*a, "a"), AddressOf(*b, "b")});
  EXPECT_TRUE(Await([&] { return shards_of() == std::set<std::string>({"a", "b"}); }));
  EXPECT_EQ(sampler->positions(), 100);
  sampler->SetShards({AddressOf(*b, "b")});
  EXPECT_EQ(shards_of(), std::set<std::string>({"b"}));
  EXPECT_EQ(sampler->positions(), 50);
  EXPECT_EQ(sampler->peers().size(), 1);
  // A shard may come back.
  sampler->SetShards({AddressOf(*a, "a"), AddressOf(*b, "b")});
  EXPECT_TRUE(Await([&] { return shards_of() == std::set<std::string>({"a", "b"}); }));
}

}  // namespace
}  // namespace mallocmuzero
