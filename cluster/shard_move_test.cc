#include "cluster/shard_move.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cluster/replay_admin.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "replay/client/replay_sampler.h"
#include "replay/client/replay_writer.h"
#include "replay/client/shard_roster.h"
#include "replay/service/replay_shard.h"
#include "replay/testing/shards.h"
#include "rpc/security.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using testing::Await;
using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(30);

void Nothing(const MovedGames&) {}

// Three durable shards, a, b and c.
class ShardMoveTest : public ::testing::Test {
 protected:
  ShardMoveTest()
      : folder_(absl::StrCat(::testing::TempDir(), "/shard_move_",
                             ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
    a_ = Start("a");
    b_ = Start("b");
    c_ = Start("c");
    roster_ = RosterOf({AddressOf(*a_, "a"), AddressOf(*b_, "b"), AddressOf(*c_, "c")});
  }
  ~ShardMoveTest() override { std::filesystem::remove_all(folder_); }

  v1::ReplayShard Config(const std::string& name, uint64_t positions = 1000) const {
    v1::ReplayShard config = ShardConfig(name, positions);
    config.set_mode(v1::ReplayShard::DURABLE);
    config.set_data_dir(absl::StrCat(folder_, "/", name));
    return config;
  }

  std::unique_ptr<ReplayShard> Start(const std::string& name) const {
    return StartShard(Config(name));
  }

  static void Write(const ReplayShard& shard, uint64_t begin, uint64_t end) {
    const auto writer = *ReplayWriter::Start({.shards = {AddressOf(shard)}});
    for (uint64_t i = begin; i < end; ++i) EXPECT_TRUE(writer->Write(MakeTrajectory(i, 10)));
    EXPECT_EQ(writer->Close(kLong), absl::OkStatus());
  }

  const std::string folder_;
  const std::shared_ptr<const Security> security_ = std::make_shared<Security>();
  std::unique_ptr<ReplayShard> a_;
  std::unique_ptr<ReplayShard> b_;
  std::unique_ptr<ReplayShard> c_;
  v1::ShardRoster roster_;
};

TEST_F(ShardMoveTest, EachGameIsAtItsHeirOnce) {
  Write(*a_, 0, 50);
  Write(*b_, 100, 105);
  const std::set<std::string> moved = ListIds(a_->address());
  const v1::ShardRoster leaving = *BeginRemoval(roster_, "a");
  const auto result = MoveGames(leaving, "a", security_, Nothing);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->games, 50);
  EXPECT_EQ(result->refused + result->damaged, 0);
  std::set<std::string> of_b = ListIds(b_->address());
  const std::set<std::string> of_c = ListIds(c_->address());
  EXPECT_EQ(of_b.size() + of_c.size(), 55);
  for (const std::string& id : moved) {
    const bool at_b = ShardOfGame(leaving, "a", id) == "b";
    EXPECT_EQ(of_b.count(id), at_b ? 1 : 0);
    EXPECT_EQ(of_c.count(id), at_b ? 0 : 1);
  }
  // An actor that has not got the answer of the shard sends a game again, to the heir.
  {
    const auto writer = *ReplayWriter::Start(
        {.shards = {{.name = "a", .address = "127.0.0.1:1"}}, .spool_dir = folder_ + "/spool"});
    for (uint64_t i = 0; i < 50; ++i) EXPECT_TRUE(writer->Write(MakeTrajectory(i, 10)));
    EXPECT_EQ(writer->Close(absl::ZeroDuration()), absl::OkStatus());
  }
  const auto writer = *ReplayWriter::Start(
      {.shards = {AddressOf(*b_, "b"), AddressOf(*c_, "c")}, .spool_dir = folder_ + "/spool"});
  writer->SetRoster(leaving);
  EXPECT_EQ(writer->Close(kLong), absl::OkStatus());
  EXPECT_EQ(writer->acknowledged(), 50);
  EXPECT_EQ(b_->Stats().items() + c_->Stats().items(), 55);
  // A second move changes nothing.
  EXPECT_TRUE(MoveGames(leaving, "a", security_, Nothing).ok());
  EXPECT_EQ(b_->Stats().items() + c_->Stats().items(), 55);
  // The heirs keep what they got.
  b_ = nullptr;
  b_ = Start("b");
  EXPECT_EQ(ListIds(b_->address()), of_b);
}

TEST_F(ShardMoveTest, AListThatNamesNoHeirsRetiresNoShard) {
  Write(*a_, 0, 1);
  v1::ShardRoster leaving = *BeginRemoval(roster_, "a");
  leaving.mutable_shards(0)->clear_heirs();
  const absl::Status status = MoveGames(leaving, "a", security_, Nothing).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("list of shards: shard a: heirs that lead to active"));
  EXPECT_FALSE(a_->Stats().retired());
}

TEST_F(ShardMoveTest, TheLimiterOfAnHeirNeitherDelaysNorCountsMovedGames) {
  v1::ReplayShard config = Config("b");
  config.mutable_rate_limit()->set_samples_per_insert(1);
  config.mutable_rate_limit()->set_min_positions(1);
  config.mutable_rate_limit()->set_error_buffer(1);
  b_ = nullptr;
  b_ = StartShard(config);
  Write(*b_, 200, 201);  // a second game would have to wait for draws
  Write(*a_, 0, 50);
  c_ = nullptr;
  const v1::ShardRoster two = RosterOf({AddressOf(*a_, "a"), AddressOf(*b_, "b")});
  const auto result = MoveGames(*BeginRemoval(two, "a"), "a", security_, Nothing);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(b_->Stats().items(), 51);
  EXPECT_EQ(b_->Stats().inserted_positions(), 10);
}

TEST_F(ShardMoveTest, PrioritiesMoveToo) {
  Write(*a_, 0, 1);
  const auto draw = [](const ReplayShard& shard) {
    const auto sampler = *ReplaySampler::Start({.shards = {AddressOf(shard)}, .prefetch = 64});
    return *sampler->Draw(v1::PRIORITIZED, 64, kLong);
  };
  {
    // All positions but the fourth get the least priority.
    const auto sampler = *ReplaySampler::Start({.shards = {AddressOf(*a_)}, .prefetch = 64});
    std::vector<DrawnPosition> drawn = *sampler->Draw(v1::PRIORITIZED, 1, kLong);
    std::vector<DrawnPosition> all(10, drawn[0]);
    std::vector<double> priorities(10, 0.0);
    for (uint32_t i = 0; i < 10; ++i) all[i].position = i;
    priorities[3] = 5;
    sampler->UpdatePriorities(all, priorities);
    ASSERT_TRUE(Await([&] { return a_->Stats().total_weight() <= 6; }));
  }
  c_ = nullptr;
  const v1::ShardRoster two = RosterOf({AddressOf(*a_, "a"), AddressOf(*b_, "b")});
  ASSERT_TRUE(MoveGames(*BeginRemoval(two, "a"), "a", security_, Nothing).ok());
  for (const DrawnPosition& position : draw(*b_)) EXPECT_EQ(position.position, 3);
}

TEST_F(ShardMoveTest, HeirsRememberWhatTheShardHasEvicted) {
  a_ = nullptr;
  a_ = StartShard(Config("a", /*positions=*/100));  // ten games
  Write(*a_, 0, 30);
  const std::set<std::string> evicted = ListIds(a_->address(), /*evicted=*/true);
  ASSERT_EQ(evicted.size(), 20);
  c_ = nullptr;
  const v1::ShardRoster two = RosterOf({AddressOf(*a_, "a"), AddressOf(*b_, "b")});
  const auto result = MoveGames(*BeginRemoval(two, "a"), "a", security_, Nothing);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->evicted_ids, 20);
  EXPECT_EQ(ListIds(b_->address(), /*evicted=*/true), evicted);
  // A late second insert changes nothing, also after a restart.
  b_ = nullptr;
  b_ = Start("b");
  Write(*b_, 0, 30);
  EXPECT_EQ(b_->Stats().items(), 10);
}

TEST_F(ShardMoveTest, ARetiredShardServesNothingEvenAfterARestart) {
  Write(*a_, 0, 3);
  ASSERT_TRUE(MoveGames(*BeginRemoval(roster_, "a"), "a", security_, Nothing).ok());
  for (int life = 0; life < 2; ++life) {
    EXPECT_TRUE(a_->Stats().retired());
    EXPECT_THAT(a_->Ready().message(), HasSubstr("removed from the cluster"));
    const auto writer = *ReplayWriter::Start({.shards = {AddressOf(*a_)}});
    EXPECT_TRUE(writer->Write(MakeTrajectory(9, 10)));
    EXPECT_FALSE(writer->Close(absl::Milliseconds(300)).ok());
    const auto sampler = *ReplaySampler::Start({.shards = {AddressOf(*a_)}});
    EXPECT_TRUE(Await([&] {
      return absl::StrContains(
          sampler->Draw(v1::PRIORITIZED, 1, absl::Milliseconds(100)).status().message(),
          "removed from the cluster");
    }));
    EXPECT_EQ(ListIds(a_->address()).size(), 3);  // nothing is deleted
    a_ = nullptr;
    a_ = Start("a");
  }
  EXPECT_THAT(a_->notes().back(), HasSubstr("was removed from the cluster"));
}

TEST_F(ShardMoveTest, GamesThatOneHeirRefusesHideNoLossOfAnother) {
  const std::string address_of_c = c_->address();
  b_ = nullptr;
  b_ = StartShard(Config("b", /*positions=*/5));  // too small for any game
  roster_ = RosterOf({AddressOf(*a_, "a"), AddressOf(*b_, "b"), AddressOf(*c_, "c")});
  const v1::ShardRoster leaving = *BeginRemoval(roster_, "a");
  int of_b = 0;
  int of_c = 0;
  for (uint64_t i = 0; of_b < 5 || of_c < 2; ++i) {
    const bool at_b = ShardOfGame(leaving, "a", MakeTrajectory(i, 10).id()) == "b";
    int& games = at_b ? of_b : of_c;
    if (games == (at_b ? 5 : 2)) continue;
    ++games;
    Write(*a_, i, i + 1);
  }
  // Loses what c has got.
  bool lost = false;
  const auto lose = [&](const MovedGames&) {
    if (lost) return;
    lost = true;
    c_ = nullptr;
    std::filesystem::remove_all(Config("c").data_dir());
    v1::ReplayShard config = Config("c");
    config.set_address(address_of_c);
    c_ = StartShard(config);
  };
  const absl::Status moved = MoveGames(leaving, "a", security_, lose).status();
  EXPECT_TRUE(absl::IsUnavailable(moved)) << moved;
  EXPECT_THAT(moved.message(), HasSubstr("shard c lacks 2 of the games"));
  // The second try sends all games again.
  const auto again = MoveGames(leaving, "a", security_, Nothing);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->refused, 5);
  EXPECT_EQ(c_->Stats().items(), 2);
}

TEST_F(ShardMoveTest, CountsADamagedGameAlsoBehindAllOthers) {
  Write(*a_, 0, 1);
  a_ = nullptr;
  {
    const std::string path = Config("a").data_dir() + "/segments/00000001.segment";
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(60);
    const int byte = file.get();
    ASSERT_NE(byte, EOF) << path;
    file.seekp(60);
    file.put(static_cast<char>(byte ^ 1));
  }
  a_ = Start("a");
  roster_ = RosterOf({AddressOf(*a_, "a"), AddressOf(*b_, "b"), AddressOf(*c_, "c")});
  const auto result = MoveGames(*BeginRemoval(roster_, "a"), "a", security_, Nothing);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->games, 0);
  EXPECT_EQ(result->damaged, 1);
}

TEST_F(ShardMoveTest, SaysWhyAMoveCannotBe) {
  EXPECT_TRUE(absl::IsFailedPrecondition(MoveGames(roster_, "a", security_, Nothing).status()));
  // Only a retired shard is exported, because others would get games meanwhile.
  const ReplayAdmin admin(a_->address(), security_);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      admin.Export([](const v1::MovedItems&) { return absl::OkStatus(); })));
  Write(*a_, 0, 20);
  const v1::ShardRoster leaving = *BeginRemoval(roster_, "a");
  b_ = nullptr;
  EXPECT_TRUE(absl::IsUnavailable(
      MoveGames(leaving, "a", security_, Nothing, absl::ZeroDuration()).status()));
}

}  // namespace
}  // namespace mallocmuzero
