#include "replay/service/replay_table.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/shard_config.h"
#include "replay/service/storage.h"
#include "replay/service/testing/items.h"
#include "replay/service/testing/valid_shard.h"

namespace mallocmuzero {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

v1::ReplayShard Config(uint64_t max_positions) {
  v1::ReplayShard config = ValidShard();
  config.set_max_positions(max_positions);
  return config;
}

std::unique_ptr<ReplayTable> Open(const v1::ReplayShard& config) {
  return *ReplayTable::Open(config, std::make_unique<MemoryStorage>());
}

void SetPriority(ReplayTable& table, uint64_t index, uint32_t position, double priority) {
  v1::UpdatePrioritiesRequest request;
  auto& update = *request.add_updates();
  update.set_id(IdString(index));
  update.set_position(position);
  update.set_priority(priority);
  ASSERT_EQ(*table.UpdatePriorities(request), 1);
}

// The positions of the first draws of a shard of that name, all of one game.
std::vector<uint32_t> FirstDraws(const std::string& shard) {
  v1::ReplayShard config = Config(1000);
  config.set_name(shard);
  const auto table = Open(config);
  EXPECT_EQ(Insert(*table, {MakeItem(0, 1000)}), absl::OkStatus());
  const ReplayTable::Draws draws = table->Draw(v1::UNIFORM, 8, 1 << 20, false);
  std::vector<uint32_t> positions;
  for (const ReplayTable::Drawn& drawn : draws.items) {
    for (const v1::SampleResponse::Draw& draw : drawn.draws) positions.push_back(draw.position());
  }
  return positions;
}

TEST(ReplayTable, ShardsDrawIndependently) {
  EXPECT_EQ(FirstDraws("a").size(), 8);
  EXPECT_EQ(FirstDraws("a"), FirstDraws("a"));
  EXPECT_NE(FirstDraws("a"), FirstDraws("b"));
}

TEST(ReplayTable, TheOldestLeaveWhenPositionsAreTooMany) {
  const auto table = Open(Config(100));
  for (uint64_t i = 0; i < 5; ++i) ASSERT_EQ(Insert(*table, {MakeItem(i, 30)}), absl::OkStatus());
  EXPECT_EQ(StoredIds(*table), IdsOf(2, 5));
  EXPECT_EQ(EvictedIds(*table), IdsOf(0, 2));
  EXPECT_EQ(table->Stats().positions(), 90);
  EXPECT_EQ(table->Stats().evicted_items(), 2);
}

TEST(ReplayTable, TheOldestLeaveWhenBytesAreTooMany) {
  v1::ReplayShard config = Config(1000);
  const uint64_t bytes = MakeItem(0, 1, 0, 1000).wire.size();
  config.set_max_bytes(3 * bytes);
  const auto table = Open(config);
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(Insert(*table, {MakeItem(i, 1, 0, 1000)}), absl::OkStatus());
  }
  EXPECT_EQ(StoredIds(*table), IdsOf(1, 4));
  EXPECT_EQ(table->Stats().bytes(), 3 * bytes);
  EXPECT_EQ(table->storage().bytes_in_memory(), 3 * bytes);
}

TEST(ReplayTable, TheLeastValuedLeaveFirstIfToldSo) {
  v1::ReplayShard config = Config(3);
  config.set_eviction(v1::ReplayShard::LEAST_VALUED_FIRST);
  const auto table = Open(config);
  for (uint64_t i = 0; i < 3; ++i) ASSERT_EQ(Insert(*table, {MakeItem(i, 1)}), absl::OkStatus());
  SetPriority(*table, 0, 0, 0.9);
  SetPriority(*table, 1, 0, 0.1);
  SetPriority(*table, 2, 0, 0.5);
  ASSERT_EQ(Insert(*table, {MakeItem(3, 1)}), absl::OkStatus());
  EXPECT_EQ(EvictedIds(*table), IdsOf(1, 2));
  ASSERT_EQ(Insert(*table, {MakeItem(4, 1)}), absl::OkStatus());
  EXPECT_EQ(StoredIds(*table), std::set<std::string>({IdString(0), IdString(3), IdString(4)}));
}

TEST(ReplayTable, BestGamesStayUntilBetterOnesCome) {
  v1::ReplayShard config = Config(3);
  config.set_best_games(1);
  const auto table = Open(config);
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1, /*total_return=*/0.5)}), absl::OkStatus());
  for (uint64_t i = 1; i < 10; ++i) {
    ASSERT_EQ(Insert(*table, {MakeItem(i, 1, 0.1)}), absl::OkStatus());
  }
  EXPECT_EQ(StoredIds(*table), std::set<std::string>({IdString(0), IdString(8), IdString(9)}));
  // Game 0 is no longer the best and is the oldest of the others, so it leaves.
  ASSERT_EQ(Insert(*table, {MakeItem(10, 1, 0.6)}), absl::OkStatus());
  EXPECT_EQ(StoredIds(*table), IdsOf(8, 11));
}

TEST(ReplayTable, WhenAllAreBestGamesTheOldestOfThemLeaves) {
  v1::ReplayShard config = Config(3);
  config.set_best_games(10);
  const auto table = Open(config);
  for (uint64_t i = 0; i < 5; ++i) {
    ASSERT_EQ(Insert(*table, {MakeItem(i, 1, static_cast<double>(i))}), absl::OkStatus());
  }
  EXPECT_EQ(StoredIds(*table), IdsOf(2, 5));
  const ReplayTable::Draws draws = table->Draw(v1::BEST, 100, 1 << 20, false);
  EXPECT_EQ(draws.answer.positions(), 3);
  EXPECT_LE(draws.items.size(), 3);
  for (const ReplayTable::Drawn& drawn : draws.items) {
    const absl::StatusOr<grpc::Slice> bytes = drawn.bytes.Load();
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_GE(IndexOf(ViewOf(*bytes)), 2);
    EXPECT_LT(IndexOf(ViewOf(*bytes)), 5);
  }
}

TEST(ReplayTable, WithoutBestGamesNoneIsDrawn) {
  const auto table = Open(Config(3));
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1)}), absl::OkStatus());
  EXPECT_FALSE(table->MayDraw(v1::BEST, /*unlimited=*/true));
  EXPECT_EQ(table->Draw(v1::BEST, 1, 1 << 20, /*unlimited=*/true).count, 0);
  EXPECT_TRUE(table->MayDraw(v1::UNIFORM, /*unlimited=*/true));
}

TEST(ReplayTable, TheLimiterCountsNoUnlimitedDraws) {
  v1::ReplayShard config = Config(100);
  config.mutable_rate_limit()->set_samples_per_insert(1);
  config.mutable_rate_limit()->set_error_buffer(10);
  const auto table = Open(config);
  ASSERT_EQ(Insert(*table, {MakeItem(0, 5)}), absl::OkStatus());
  EXPECT_EQ(table->Draw(v1::UNIFORM, 40, 1 << 20, /*unlimited=*/true).count, 40);
  EXPECT_EQ(table->Stats().drawn_positions(), 0);
  EXPECT_EQ(table->Draw(v1::UNIFORM, 40, 1 << 20, /*unlimited=*/false).count, 15);
  EXPECT_EQ(table->Stats().drawn_positions(), 15);
}

TEST(ReplayTable, TheLimiterCountsOnlyThePlayersOwnDecisions) {
  v1::ReplayShard config = Config(100);
  config.mutable_rate_limit()->set_samples_per_insert(1);
  config.mutable_rate_limit()->set_error_buffer(10);
  const auto table = Open(config);
  Item item = MakeItem(0, 30);
  item.metadata.own_positions = 5;
  ASSERT_EQ(Insert(*table, {item}), absl::OkStatus());
  EXPECT_EQ(table->Stats().inserted_positions(), 5);
  EXPECT_EQ(table->Stats().positions(), 30);
  EXPECT_EQ(table->Draw(v1::UNIFORM, 40, 1 << 20, /*unlimited=*/false).count, 15);
}

TEST(ReplayTable, WhatMovesFromAnotherShardIsNotInsertedAnew) {
  v1::ReplayShard config = Config(100);
  const auto table = Open(config);
  ASSERT_EQ(Insert(*table, {MakeItem(0, 5)}), absl::OkStatus());
  TableInsert moved{.moved = true, .indices = {0}};
  moved.items.push_back(MakeItem(1, 7));
  // The other shard has evicted a game that this one has, and another one.
  for (const uint64_t index : {0, 9}) moved.evicted.push_back(MakeItem(index, 1).metadata.id);
  TableInsert* const inserts[] = {&moved};
  ASSERT_EQ(table->Insert(inserts), absl::OkStatus());
  EXPECT_EQ(table->Stats().inserted_positions(), 5);
  EXPECT_EQ(table->Stats().positions(), 12);
  EXPECT_EQ(StoredIds(*table), IdsOf(0, 2));
  EXPECT_EQ(EvictedIds(*table), IdsOf(9, 10));
}

TEST(ReplayTable, ALostItemThatHasLeftTakesNoOtherAlong) {
  const auto table = Open(Config(1));
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1)}), absl::OkStatus());
  const SlotItem lost = table->Draw(v1::UNIFORM, 1, 1 << 20, false).items[0].source;
  table->NoteUnreadable(lost, absl::DataLossError("damaged"));
  for (uint64_t i = 1; i < 3; ++i) ASSERT_EQ(Insert(*table, {MakeItem(i, 1)}), absl::OkStatus());
  // Game 2 has the slot of game 0, which leaves with this flush if it is still there.
  ASSERT_EQ(table->Draw(v1::UNIFORM, 1, 1 << 20, false).items[0].source.slot, lost.slot);
  ASSERT_EQ(table->Flush(), absl::OkStatus());
  EXPECT_EQ(StoredIds(*table), IdsOf(2, 3));
}

TEST(ReplayTable, AnIdIsForgottenWhenItsTimeIsOver) {
  v1::ReplayShard config = Config(1);
  config.set_remember_evicted_seconds(0);
  const auto table = Open(config);
  for (uint64_t i = 0; i < 3; ++i) ASSERT_EQ(Insert(*table, {MakeItem(i, 1)}), absl::OkStatus());
  EXPECT_EQ(EvictedIds(*table), IdsOf(1, 2));
}

TEST(ReplayTable, AnIdThatHasLeftIsKnownAndNotPutBack) {
  const auto table = Open(Config(1));
  for (uint64_t i = 0; i < 2; ++i) ASSERT_EQ(Insert(*table, {MakeItem(i, 1)}), absl::OkStatus());
  v1::InsertResponse response;
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1)}, false, &response), absl::OkStatus());
  EXPECT_EQ(response.acknowledged(), 1);
  EXPECT_EQ(StoredIds(*table), IdsOf(1, 2));
}

TEST(ReplayTable, WhatIsMoreThanTheShardHoldsIsRefusedAndEvictsNothing) {
  v1::ReplayShard config = Config(10);
  config.set_max_bytes(MakeItem(0, 1, 0, 1000).wire.size());
  const auto table = Open(config);
  v1::InsertResponse response;
  ASSERT_EQ(
      Insert(*table, {MakeItem(0, 10), MakeItem(1, 11), MakeItem(2, 1, 0, 1001)}, false, &response),
      absl::OkStatus());
  EXPECT_EQ(response.acknowledged(), 1);
  ASSERT_EQ(response.refusals_size(), 2);
  EXPECT_EQ(response.refusals(0).index(), 1);
  EXPECT_THAT(response.refusals(0).message(), StartsWith("positions: 11, must be at most 10"));
  EXPECT_EQ(response.refusals(1).index(), 2);
  EXPECT_THAT(response.refusals(1).message(), StartsWith("payload: "));
  EXPECT_EQ(StoredIds(*table), IdsOf(0, 1));
}

TEST(ReplayTable, TwoOfAnIdInOneRequestAreOne) {
  const auto table = Open(Config(10));
  v1::InsertResponse response;
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1), MakeItem(0, 1)}, false, &response), absl::OkStatus());
  EXPECT_EQ(response.acknowledged(), 2);
  EXPECT_EQ(table->Stats().items(), 1);
  EXPECT_EQ(table->Stats().duplicate_items(), 1);
}

TEST(ReplayTable, AReplacementTakesThePlaceAndPrioritiesStay) {
  const auto table = Open(Config(10));
  ASSERT_EQ(Insert(*table, {MakeItem(0, 2, 0, 10)}), absl::OkStatus());
  SetPriority(*table, 0, 1, 5);
  ASSERT_EQ(Insert(*table, {MakeItem(0, 2, 0, 500)}, /*replace=*/true), absl::OkStatus());
  EXPECT_EQ(table->Stats().total_weight(), 6);
  EXPECT_EQ(table->Stats().bytes(), MakeItem(0, 2, 0, 500).wire.size());
  const ReplayTable::Draws draws = table->Draw(v1::UNIFORM, 1, 1 << 20, false);
  EXPECT_EQ(draws.items[0].bytes.Load()->size(), MakeItem(0, 2, 0, 500).wire.size());
  v1::InsertResponse response;
  ASSERT_EQ(Insert(*table, {MakeItem(0, 3), MakeItem(9, 1)}, true, &response), absl::OkStatus());
  ASSERT_EQ(response.refusals_size(), 1);
  EXPECT_EQ(response.refusals(0).index(), 0);
  EXPECT_THAT(response.refusals(0).message(), HasSubstr("2 positions"));
  EXPECT_EQ(response.acknowledged(), 1);
}

TEST(ReplayTable, AnAnswerIsCutAtItsSize) {
  const auto table = Open(Config(1000));
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(Insert(*table, {MakeItem(i, 1, 0, 1000)}), absl::OkStatus());
  }
  const ReplayTable::Draws draws = table->Draw(v1::UNIFORM, 1000, 10000, false);
  EXPECT_GE(draws.items.size(), 9);
  EXPECT_LE(draws.items.size(), 10);
  EXPECT_EQ(table->Draw(v1::UNIFORM, 3, 1, false).count, 1);
  // All items have the same size.
  const size_t bytes = MakeItem(0, 1, 0, 1000).wire.size();
  EXPECT_EQ(table->Draw(v1::UNIFORM, 1000, 2 * bytes, false).items.size(), 2);
}

TEST(ReplayTable, ABadPriorityChangesNothing) {
  const auto table = Open(Config(10));
  ASSERT_EQ(Insert(*table, {MakeItem(0, 2)}), absl::OkStatus());
  for (const double bad : {-1.0, std::nan(""), static_cast<double>(INFINITY)}) {
    v1::UpdatePrioritiesRequest request;
    for (const double priority : {7.0, bad}) {
      auto& update = *request.add_updates();
      update.set_id(IdString(0));
      update.set_priority(priority);
    }
    EXPECT_EQ(table->UpdatePriorities(request).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(table->Stats().total_weight(), 2);
}

TEST(ReplayTable, ManyPrioritiesInOneRequestAreAsOneByOne) {
  v1::ReplayShard config = Config(150);
  config.set_eviction(v1::ReplayShard::LEAST_VALUED_FIRST);
  const auto together = Open(config);
  const auto one_by_one = Open(config);
  for (ReplayTable* table : {together.get(), one_by_one.get()}) {
    for (uint64_t i = 0; i < 3; ++i) {
      ASSERT_EQ(Insert(*table, {MakeItem(i, 50)}), absl::OkStatus());
    }
  }
  std::mt19937_64 random(1);
  v1::UpdatePrioritiesRequest request;
  for (int i = 0; i < 500; ++i) {
    const uint64_t index = random() % 3;
    const auto position = static_cast<uint32_t>(random() % 50);
    const auto priority = static_cast<double>(random() % 100);
    auto& update = *request.add_updates();
    update.set_id(IdString(index));
    update.set_position(position);
    update.set_priority(priority);
    SetPriority(*one_by_one, index, position, priority);
  }
  EXPECT_EQ(*together->UpdatePriorities(request), 500);
  EXPECT_EQ(together->Stats().total_weight(), one_by_one->Stats().total_weight());
  // The same item leaves, and a new one gets the same priority.
  for (ReplayTable* table : {together.get(), one_by_one.get()}) {
    ASSERT_EQ(Insert(*table, {MakeItem(3, 50)}), absl::OkStatus());
  }
  EXPECT_EQ(StoredIds(*together), StoredIds(*one_by_one));
  EXPECT_EQ(together->Stats().total_weight(), one_by_one->Stats().total_weight());
}

TEST(ReplayTable, PrioritiesOfWhatIsNotThereAreIgnored) {
  const auto table = Open(Config(10));
  ASSERT_EQ(Insert(*table, {MakeItem(0, 2)}), absl::OkStatus());
  v1::UpdatePrioritiesRequest request;
  for (const auto& [id, position] : std::vector<std::pair<std::string, uint32_t>>{
           {IdString(0), 2}, {IdString(1), 0}, {"short", 0}}) {
    auto& update = *request.add_updates();
    update.set_id(id);
    update.set_position(position);
    update.set_priority(9);
  }
  EXPECT_EQ(*table->UpdatePriorities(request), 0);
  EXPECT_EQ(table->Stats().total_weight(), 2);
}

TEST(ShardConfig, NamesTheFieldThatCannotBe) {
  const auto message = [](const v1::ReplayShard& config) {
    return std::string(CheckShardConfig(config).message());
  };
  v1::ReplayShard config = ValidShard();
  EXPECT_THAT(message(config), IsEmpty());
  config.set_max_bytes(0);
  EXPECT_THAT(message(config), StartsWith("max_bytes: 0 given"));
  config = ValidShard();
  config.clear_eviction();
  EXPECT_THAT(message(config), StartsWith("eviction"));
  config = ValidShard();
  config.set_mode(v1::ReplayShard::DURABLE);
  EXPECT_THAT(message(config), HasSubstr("data_dir"));
  config.set_data_dir("data");
  config.set_priority_exponent(std::nan(""));
  EXPECT_THAT(message(config), HasSubstr("priority_exponent"));
  config.set_priority_exponent(1);
  config.set_max_positions(5);
  config.mutable_rate_limit()->set_min_positions(6);
  EXPECT_THAT(message(config), HasSubstr("min_positions"));
}

}  // namespace
}  // namespace mallocmuzero
