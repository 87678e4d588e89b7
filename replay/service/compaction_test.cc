// Tests that segment files with few items left are emptied, also when errors occur meanwhile.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/item_database.h"
#include "replay/service/replay_table.h"
#include "replay/service/testing/disk_faults.h"
#include "replay/service/testing/durable_storage_fixture.h"
#include "replay/service/testing/items.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using CompactionTest = DurableStorageTest;

TEST_F(CompactionTest, AFewItemsThatStayDoNotKeepTheFilesOfAllOthers) {
  v1::ReplayShard config = Config();
  config.set_max_positions(20);
  config.set_best_games(10);
  const auto table = Open(config);
  // Every 40th game is better than all before, so the ten best games are in ten different files.
  for (uint64_t i = 0; i < 800; ++i) {
    const double value = i % 40 == 0 ? static_cast<double>(i) : -1;
    ASSERT_EQ(Insert(*table, {MakeItem(i, 1, value, 4000)}), absl::OkStatus());
  }
  ASSERT_EQ(table->Flush(), absl::OkStatus());
  uint64_t segments = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_ + "/segments")) {
    segments += file.file_size();
  }
  // 20 items of 4 kB are in use, and the files may have twice their bytes. Four files more, the
  // open one and a spare are allowed.
  EXPECT_LT(segments, 2 * 20 * 4100 + 6 * ((1 << 16) + 4100));
  const ReplayTable::Draws draws = table->Draw(v1::BEST, 100, 1 << 20, false);
  for (const ReplayTable::Drawn& drawn : draws.items) EXPECT_TRUE(drawn.bytes.Load().ok());
}

TEST_F(CompactionTest, AReplacementThatMovesKeepsTheReturnOfTheGameItReplaced) {
  v1::ReplayShard config = Config();
  config.set_max_positions(20);
  config.set_best_games(10);
  {
    const auto table = Open(config);
    ASSERT_EQ(Insert(*table, {MakeItem(0, 1, /*total_return=*/1000, 4000)}), absl::OkStatus());
    ASSERT_EQ(Insert(*table, {MakeItem(0, 1, 1, 4000)}, /*replace=*/true), absl::OkStatus());
    // Every 40th game is better than all but the first.
    for (uint64_t i = 1; i < 800; ++i) {
      const double value = i % 40 == 0 ? static_cast<double>(i) : -1;
      ASSERT_EQ(Insert(*table, {MakeItem(i, 1, value, 4000)}), absl::OkStatus());
    }
  }
  const absl::StatusOr<std::unique_ptr<ItemDatabase>> database =
      ItemDatabase::Open(folder_ + "/database", /*sync=*/false);
  ASSERT_TRUE(database.ok()) << database.status();
  const absl::StatusOr<ItemDatabase::Content> content = (*database)->Read();
  ASSERT_TRUE(content.ok()) << content.status();
  const ItemDatabase::Record& first = content->records.at(0);
  ASSERT_EQ(ViewOf(first.metadata.id), IdString(0));
  EXPECT_GT(first.place.segment, 1);
  EXPECT_EQ(first.metadata.total_return, 1000);
}

// 306 items of 4 kB, 17 in each file. Every fourth is a best game, and the next table that is
// opened keeps only these. The second file then has only four items in use, 20 to 32, and is the
// first to be emptied when a group is stored.
class ScatteredItems : public DurableStorageTest {
 protected:
  static constexpr uint64_t kItems = uint64_t{18} * 17;
  static constexpr uint64_t kBest = 77;  // items 0, 4, ..., 304

  ScatteredItems() {
    const auto table = Open(Config());
    for (uint64_t i = 0; i < kItems; ++i) {
      EXPECT_EQ(Insert(*table, {Make(i)}), absl::OkStatus());
    }
    config_ = Config();
    config_.set_max_positions(kBest + 1);
    config_.set_best_games(kBest);
  }

  static Item Make(uint64_t i) { return MakeItem(i, 1, i % 4 == 0 ? 1.0 + i : 0, 4000); }
  std::string SecondFile() const { return folder_ + "/segments/00000002.segment"; }

  v1::ReplayShard config_;
};

TEST_F(ScatteredItems, AnInsertIsDoneThoughThereIsNoRoomToMoveOthers) {
  {
    const auto table = Open(config_);
    // The file has room for the new item but not for the four that would move after it.
    std::optional<FileSizeLimit> limit(16000);
    const absl::Status stored = Insert(*table, {MakeItem(1000, 1, 0, 4000)});
    limit.reset();
    EXPECT_EQ(stored, absl::OkStatus());
    EXPECT_THAT(table->storage().trouble(), HasSubstr("File too large"));
    EXPECT_TRUE(StoredIds(*table).contains(IdString(1000)));
    EXPECT_TRUE(std::filesystem::exists(SecondFile()));
    ASSERT_EQ(Insert(*table, {MakeItem(1001, 1, 0, 4000)}), absl::OkStatus());
    EXPECT_THAT(table->storage().trouble(), IsEmpty());
    EXPECT_FALSE(std::filesystem::exists(SecondFile()));
  }
  // All items can be read from their new places.
  const auto table = Open(config_);
  EXPECT_EQ(table->Stats().items(), kBest + 1);
  EXPECT_TRUE(StoredIds(*table).contains(IdString(1001)));
  for (const ReplayTable::Drawn& drawn : table->Draw(v1::UNIFORM, 500, 1 << 22, false).items) {
    EXPECT_TRUE(drawn.bytes.Load().ok());
  }
}

TEST_F(ScatteredItems, AReplacementIsNotUndoneWhenItsOldBytesWouldMove) {
  {
    const auto table = Open(config_);
    ASSERT_EQ(Insert(*table, {MakeItem(20, 1, 21, 5000)}, /*replace=*/true), absl::OkStatus());
  }
  const auto table = Open(config_);
  bool found = false;
  for (const ReplayTable::Drawn& drawn : table->Draw(v1::UNIFORM, 2000, 1 << 22, false).items) {
    const absl::StatusOr<grpc::Slice> bytes = drawn.bytes.Load();
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    if (IndexOf(ViewOf(*bytes)) != 20) continue;
    found = true;
    EXPECT_GT(bytes->size(), 5000);
  }
  EXPECT_TRUE(found);
}

TEST_F(ScatteredItems, ADamagedItemLeavesAndKeepsNoFileFromBeingEmptied) {
  {
    std::fstream file(SecondFile(), std::ios::in | std::ios::out | std::ios::binary);
    // This byte belongs to item 20.
    file.seekp(Make(17).wire.size() + Make(18).wire.size() + Make(19).wire.size() + 500);
    file.put('!');
  }
  const auto table = Open(config_);
  ASSERT_EQ(Insert(*table, {MakeItem(1000, 1, 0, 4000)}), absl::OkStatus());
  EXPECT_FALSE(StoredIds(*table).contains(IdString(20)));
  EXPECT_TRUE(EvictedIds(*table).contains(IdString(20)));
  EXPECT_TRUE(StoredIds(*table).contains(IdString(24)));
  EXPECT_EQ(table->Stats().unreadable_items(), 1);
  EXPECT_THAT(table->TakeWarnings(),
              ElementsAre(AllOf(StartsWith("1 trajectories leave"),
                                HasSubstr(absl::BytesToHexString(IdString(20))),
                                HasSubstr("00000002.segment: wrong checksum at byte "))));
  ASSERT_EQ(table->Flush(), absl::OkStatus());
  EXPECT_FALSE(std::filesystem::exists(SecondFile()));
}

// In the mode DURABLE a power cut may lose the newest games, but no game that has been on the disk
// for long, even if the game moves to another file.
TEST_F(ScatteredItems, WhatMovesSurvivesAPowerCut) {
  const auto table = Open(config_);
  disk_faults::SyncAll(folder_);
  // Each insert moves what is left of one file.
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_EQ(Insert(*table, {MakeItem(1000 + i, 1, 0, 4000)}), absl::OkStatus());
  }
  ASSERT_FALSE(std::filesystem::exists(SecondFile()));
  const std::string copy = folder_ + ".power_cut";
  disk_faults::CopyAfterPowerCut(folder_, copy);
  const auto after = Open(config_, copy);
  ASSERT_NE(after, nullptr);
  const std::set<std::string> ids = StoredIds(*after);
  for (uint64_t i = 0; i < kItems; i += 4) EXPECT_TRUE(ids.contains(IdString(i))) << i;
  for (const ReplayTable::Drawn& drawn : after->Draw(v1::BEST, 500, 1 << 22, false).items) {
    EXPECT_TRUE(drawn.bytes.Load().ok());
  }
  std::filesystem::remove_all(copy);
}

}  // namespace
}  // namespace mallocmuzero
