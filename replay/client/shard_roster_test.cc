#include "replay/client/shard_roster.h"

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

v1::ClusterConfig Config(const std::vector<ShardAddress>& shards) {
  v1::ClusterConfig config;
  for (const ShardAddress& shard : shards) {
    v1::ReplayShard& section = *config.add_replay();
    section.set_name(shard.name);
    section.set_address(shard.address);
  }
  return config;
}

v1::ShardRoster TwoShards() { return RosterOf({{"a", "127.0.0.1:1"}, {"b", "127.0.0.1:2"}}); }

std::string Id(int i) {
  std::string id(16, '\0');
  id[0] = i;
  id[1] = i >> 8;
  return id;
}

TEST(ShardRoster, AddsAShardOnce) {
  const auto three = AddShard(TwoShards(), "c", "127.0.0.1:3");
  ASSERT_TRUE(three.ok()) << three.status();
  EXPECT_EQ(three->epoch(), 2);
  EXPECT_EQ(ActiveShards(*three).size(), 3);
  EXPECT_NE(RosterFingerprint(*three), RosterFingerprint(TwoShards()));
  // A second call changes nothing.
  EXPECT_EQ(AddShard(*three, "c", "127.0.0.1:3")->epoch(), 2);
}

TEST(ShardRoster, RefusesAShardThatCannotBeAdded) {
  EXPECT_TRUE(absl::IsInvalidArgument(AddShard(TwoShards(), "c/d", "127.0.0.1:3").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(AddShard(TwoShards(), "c", "127.0.0.1").status()));
  EXPECT_THAT(AddShard(TwoShards(), "c", "127.0.0.1:2").status().message(),
              HasSubstr("already has shard b on 127.0.0.1:2"));
  EXPECT_TRUE(absl::IsFailedPrecondition(AddShard(TwoShards(), "a", "127.0.0.1:3").status()));
}

TEST(ShardRoster, AShardLeavesInTwoSteps) {
  const auto leaving = BeginRemoval(TwoShards(), "a");
  ASSERT_TRUE(leaving.ok()) << leaving.status();
  EXPECT_THAT(ActiveShards(*leaving), ElementsAre(ShardAddress{"b", "127.0.0.1:2"}));
  EXPECT_THAT(leaving->shards(0).heirs(), ElementsAre("b"));
  EXPECT_EQ(BeginRemoval(*leaving, "a")->epoch(), leaving->epoch());
  const auto left = EndRemoval(*leaving, "a");
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ(left->epoch(), 3);
  EXPECT_EQ(left->shards(0).state(), v1::ShardRoster::LEFT);
  // Both steps may be repeated, as after a lost answer.
  EXPECT_EQ(EndRemoval(*left, "a")->epoch(), 3);
  EXPECT_EQ(BeginRemoval(*left, "a")->epoch(), 3);
}

TEST(ShardRoster, RefusesARemovalThatWouldLoseGames) {
  EXPECT_TRUE(absl::IsNotFound(BeginRemoval(TwoShards(), "c").status()));
  EXPECT_TRUE(absl::IsNotFound(EndRemoval(TwoShards(), "c").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(EndRemoval(TwoShards(), "a").status()));
  const v1::ShardRoster leaving = *BeginRemoval(TwoShards(), "a");
  EXPECT_THAT(BeginRemoval(leaving, "b").status().message(), HasSubstr("a is still leaving"));
  const v1::ShardRoster left = *EndRemoval(leaving, "a");
  EXPECT_THAT(BeginRemoval(left, "b").status().message(), HasSubstr("the only one"));
}

TEST(ShardRoster, AShardWithTheNameOfOneThatHasLeftIsAnotherShard) {
  const v1::ShardRoster leaving = *BeginRemoval(TwoShards(), "a");
  EXPECT_TRUE(absl::IsFailedPrecondition(AddShard(leaving, "a", "127.0.0.1:1").status()));
  const auto again = AddShard(*EndRemoval(leaving, "a"), "a", "127.0.0.1:1");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_THAT(ActiveShards(*again),
              ElementsAre(ShardAddress{"b", "127.0.0.1:2"}, ShardAddress{"a#2", "127.0.0.1:1"}));
  EXPECT_TRUE(CheckRoster(*again).ok());
  // An actor that was away may have games that the earlier shard has stored and handed over.
  EXPECT_EQ(ShardOfGame(*again, "a", Id(1)), "b");
  EXPECT_EQ(ShardOfGame(*again, "a#2", Id(1)), "a#2");
  EXPECT_EQ(Reconcile(*again, Config({{"a", "127.0.0.1:1"}, {"b", "127.0.0.1:2"}}))->roster.epoch(),
            again->epoch());
  const auto left = BeginRemoval(*again, "a");
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ(left->shards(2).state(), v1::ShardRoster::LEAVING);
}

TEST(ShardRoster, AGameOfAShardThatHasLeftGoesToTheSameHeirForAllTime) {
  const v1::ShardRoster three = *AddShard(TwoShards(), "c", "127.0.0.1:3");
  const v1::ShardRoster leaving = *BeginRemoval(three, "a");
  std::set<std::string> heirs;
  for (int i = 0; i < 200; ++i) heirs.insert(ShardOfGame(leaving, "a", Id(i)));
  EXPECT_EQ(heirs, std::set<std::string>({"b", "c"}));
  // Neither the end of the removal nor a new shard changes the heirs.
  const v1::ShardRoster later = *AddShard(*EndRemoval(leaving, "a"), "d", "127.0.0.1:4");
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(ShardOfGame(later, "a", Id(i)), ShardOfGame(leaving, "a", Id(i)));
    EXPECT_EQ(ShardOfGame(later, "b", Id(i)), "b");
  }
  // When an heir leaves, its heirs follow.
  const v1::ShardRoster last = *BeginRemoval(later, "b");
  for (int i = 0; i < 200; ++i) {
    const std::string heir = ShardOfGame(later, "a", Id(i));
    EXPECT_EQ(ShardOfGame(last, "a", Id(i)), heir == "b" ? ShardOfGame(last, "b", Id(i)) : heir);
  }
  EXPECT_EQ(ShardOfGame(last, "unknown", Id(1)), "");
}

TEST(ShardRoster, AnOldConfigurationDoesNotBringBackAShardThatHasLeft) {
  const v1::ShardRoster three = *AddShard(TwoShards(), "c", "127.0.0.1:3");
  const v1::ShardRoster now = *EndRemoval(*BeginRemoval(three, "a"), "a");
  const auto reconciled = Reconcile(now, Config({{"a", "127.0.0.1:1"}, {"b", "127.0.0.1:2"}}));
  ASSERT_TRUE(reconciled.ok()) << reconciled.status();
  EXPECT_EQ(reconciled->roster.epoch(), now.epoch());
  EXPECT_THAT(ActiveShards(reconciled->roster),
              ElementsAre(ShardAddress{"b", "127.0.0.1:2"}, ShardAddress{"c", "127.0.0.1:3"}));
  EXPECT_THAT(reconciled->notes, ElementsAre(HasSubstr("shard a was removed"),
                                             HasSubstr("shard c on 127.0.0.1:3 was added")));
}

TEST(ShardRoster, ANewConfigurationMovesAndAddsShards) {
  const auto reconciled =
      Reconcile(TwoShards(), Config({{"a", "10.0.0.1:1"}, {"b", "127.0.0.1:2"}, {"c", "[::1]:3"}}));
  ASSERT_TRUE(reconciled.ok()) << reconciled.status();
  EXPECT_EQ(reconciled->roster.epoch(), 2);
  EXPECT_THAT(ActiveShards(reconciled->roster),
              ElementsAre(ShardAddress{"a", "10.0.0.1:1"}, ShardAddress{"b", "127.0.0.1:2"},
                          ShardAddress{"c", "[::1]:3"}));
  EXPECT_THAT(Reconcile(TwoShards(), Config(ActiveShards(TwoShards())))->notes, IsEmpty());
}

TEST(ShardRoster, AShardOfTheListKeepsItsName) {
  const auto renamed =
      Reconcile(TwoShards(), Config({{"a", "127.0.0.1:1"}, {"new", "127.0.0.1:2"}}));
  EXPECT_EQ(renamed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(renamed.status().message(), HasSubstr("new has the address of shard b"));
  // The place of a shard that has moved may be taken.
  const auto moved = Reconcile(
      TwoShards(), Config({{"a", "127.0.0.1:1"}, {"b", "127.0.0.1:9"}, {"new", "127.0.0.1:2"}}));
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_EQ(ActiveShards(moved->roster).size(), 3);
}

TEST(ShardRoster, AListOfOtherShardsIsNoneOfThisCluster) {
  const auto other = Reconcile(TwoShards(), Config({{"x", "127.0.0.1:9"}}));
  EXPECT_EQ(other.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(other.status().message(), HasSubstr("has none of these"));
}

TEST(ShardRoster, OneProcessUnderTwoNamesIsNotRemoved) {
  v1::ShardRoster twice = TwoShards();
  twice.mutable_shards(1)->set_address(twice.shards(0).address());
  EXPECT_THAT(BeginRemoval(twice, "b").status().message(),
              HasSubstr("shards b and a have one address"));
}

TEST(ShardRoster, AListOfAnotherProcessIsChecked) {
  EXPECT_TRUE(CheckRoster(TwoShards()).ok());
  v1::ShardRoster broken = *BeginRemoval(TwoShards(), "a");
  broken.mutable_shards(0)->set_heirs(0, "z");
  EXPECT_FALSE(CheckRoster(broken).ok());
  broken = TwoShards();
  broken.mutable_shards(1)->set_address("nowhere");
  EXPECT_FALSE(CheckRoster(broken).ok());
  EXPECT_FALSE(CheckRoster(v1::ShardRoster()).ok());
  // A list in which two shards inherit from each other ends the search.
  broken = TwoShards();
  for (int i = 0; i < 2; ++i) {
    broken.mutable_shards(i)->set_state(v1::ShardRoster::LEFT);
    broken.mutable_shards(i)->add_heirs(i == 0 ? "b" : "a");
  }
  EXPECT_EQ(ShardOfGame(broken, "a", Id(1)), "");
}

TEST(ShardRoster, AListMustHaveAnActiveShardForEachGame) {
  const v1::ShardRoster three = *AddShard(TwoShards(), "c", "127.0.0.1:3");
  const v1::ShardRoster good = *EndRemoval(*BeginRemoval(three, "a"), "a");
  EXPECT_EQ(CheckRoster(*BeginRemoval(good, "b")), absl::OkStatus());
  v1::ShardRoster broken = good;
  broken.mutable_shards(0)->clear_heirs();
  EXPECT_THAT(CheckRoster(broken).message(), HasSubstr("shard a: heirs that lead to active"));
  broken = *BeginRemoval(good, "b");
  broken.mutable_shards(1)->set_heirs(0, "a");  // which has left b its games
  EXPECT_THAT(CheckRoster(broken).message(), HasSubstr("heirs that lead to active shards"));
  broken = good;
  broken.mutable_shards(2)->set_name("b");
  broken.mutable_shards(0)->set_heirs(1, "b");
  EXPECT_THAT(CheckRoster(broken).message(), HasSubstr("shard b: is there twice"));
  for (const int state : {0, 4}) {
    broken = good;
    broken.mutable_shards(0)->set_state(static_cast<v1::ShardRoster::State>(state));
    EXPECT_THAT(CheckRoster(broken).message(), HasSubstr("shard a: state: ACTIVE, LEAVING or"));
  }
}

TEST(ShardRoster, AListHasOnlyNamesThatItGives) {
  for (const char* name : {"a#2", "a#17"}) {
    v1::ShardRoster roster = TwoShards();
    roster.mutable_shards(0)->set_name(name);
    EXPECT_EQ(CheckRoster(roster), absl::OkStatus()) << name;
  }
  for (const char* name : {"", "#2", "a#", "a#1", "a#02", "a#2\n", "a#b", "a b"}) {
    v1::ShardRoster roster = TwoShards();
    roster.mutable_shards(0)->set_name(name);
    EXPECT_THAT(CheckRoster(roster).message(), HasSubstr("a name and an address expected"));
  }
}

TEST(ShardRoster, SaysInOneLineWhatIsWrongWithAName) {
  const v1::ShardRoster one = RosterOf(std::vector<ShardAddress>{{"a", "127.0.0.1:1"}});
  for (const absl::Status& status :
       {AddShard(one, "b\n", "127.0.0.1:2").status(), AddShard(one, "b", "x\ny").status(),
        BeginRemoval(one, "b\n").status(), BeginRemoval(one, "a#\n").status(),
        EndRemoval(one, "b\n").status(), EndRemoval(one, "a#\n").status()}) {
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), Not(HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace mallocmuzero
