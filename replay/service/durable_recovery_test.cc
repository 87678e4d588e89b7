// What a shard finds in its folder after a failed write, a stale record, a power cut or a change of
// its limit.

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/durable_storage.h"
#include "replay/service/id_set.h"
#include "replay/service/item_database.h"
#include "replay/service/replay_table.h"
#include "replay/service/testing/disk_faults.h"
#include "replay/service/testing/durable_storage_fixture.h"
#include "replay/service/testing/items.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class RecoveryTest : public DurableStorageTest {
 protected:
  // A record as a write that failed may leave it.
  void WriteRecord(uint64_t serial, const ItemId& id, SegmentPlace place) {
    const auto database = *ItemDatabase::Open(folder_ + "/database", /*sync=*/false);
    const Item item = MakeItem(0, 1);
    ItemDatabase::Record record{.serial = serial, .metadata = item.metadata, .place = place};
    record.metadata.id = id;
    ASSERT_EQ(database->Rewrite({record}, {}, /*sync=*/false), absl::OkStatus());
  }

  std::vector<ItemDatabase::Record> Records() {
    return (*ItemDatabase::Open(folder_ + "/database", /*sync=*/false))->Read()->records;
  }

  void ExpectReadable(ReplayTable& table) {
    for (const ReplayTable::Drawn& drawn : table.Draw(v1::UNIFORM, 500, 1 << 22, false).items) {
      const absl::StatusOr<grpc::Slice> bytes = drawn.bytes.Load();
      EXPECT_TRUE(bytes.ok()) << bytes.status();
    }
  }
};

TEST_F(RecoveryTest, TheLimitersErrorOutlivesNewLimitsAndRestarts) {
  v1::ReplayShard config = Config();
  v1::RateLimit& limit = *config.mutable_rate_limit();
  limit.set_samples_per_insert(1);
  limit.set_error_buffer(100);
  {
    const auto table = Open(config);
    ASSERT_EQ(Insert(*table, {MakeItem(0, 1), MakeItem(1, 3)}), absl::OkStatus());
    ASSERT_EQ(table->Draw(v1::UNIFORM, 10, 1 << 20, false).count, 10);
    EXPECT_EQ(table->Stats().limiter_error(), 10 - 4);
    limit.set_samples_per_insert(5);
    ASSERT_EQ(table->SetRateLimit(limit), absl::OkStatus());
    EXPECT_EQ(table->Stats().limiter_error(), 6);
    // Later positions count by the new limit.
    ASSERT_EQ(Insert(*table, {MakeItem(2, 1)}), absl::OkStatus());
    EXPECT_EQ(table->Stats().limiter_error(), 6 - 5);
  }
  EXPECT_EQ(Open(config)->Stats().limiter_error(), 1);
  limit.set_samples_per_insert(2);
  {
    const auto table = Open(config);
    EXPECT_EQ(table->Stats().limiter_error(), 1);
    ASSERT_EQ(Insert(*table, {MakeItem(3, 1)}), absl::OkStatus());
    EXPECT_EQ(table->Stats().limiter_error(), 1 - 2);
  }
  EXPECT_EQ(Open(config)->Stats().limiter_error(), -1);
}

TEST_F(RecoveryTest, AStaleRecordWithoutItsFileDoesNotTakeTheStoredGameWithIt) {
  const v1::ReplayShard config = Config();
  {
    const auto table = Open(config);
    ASSERT_EQ(Insert(*table, {MakeItem(0, 1)}), absl::OkStatus());
    ASSERT_EQ(Insert(*table, {MakeItem(1, 1)}), absl::OkStatus());
  }
  // Game 0 leaves: in its place is an older record of game 1.
  WriteRecord(1, MakeItem(1, 1).metadata.id, {.segment = 99, .bytes = 10});
  const auto table = Open(config);
  EXPECT_EQ(StoredIds(*table), IdsOf(1, 2));
  ExpectReadable(*table);
}

TEST_F(RecoveryTest, RecordsThatNoShardWritesAreLeftOutAndTold) {
  const v1::ReplayShard config = Config();
  ASSERT_EQ(Insert(*Open(config), {MakeItem(0, 1)}), absl::OkStatus());
  const ItemDatabase::Record good = Records().at(0);
  std::vector<ItemDatabase::Record> records(5, good);
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].serial = 10 + i;
    records[i].metadata = MakeItem(1 + i, 1).metadata;
  }
  records[0].metadata.positions = UINT32_MAX;
  records[1].metadata.total_return = std::nan("");
  records[2].metadata.program_sha256 = "short";
  records[3].place.bytes = UINT32_MAX;
  records[4].place.offset = UINT64_MAX - 4;  // its sum with the bytes is small
  ASSERT_EQ((*ItemDatabase::Open(folder_ + "/database", false))->Rewrite(records, {}, false),
            absl::OkStatus());
  {
    const auto table = Open(config);
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(StoredIds(*table), IdsOf(0, 1));
    EXPECT_THAT(table->notes(), Contains(HasSubstr("5 trajectories are lost")));
    ExpectReadable(*table);
  }
  // The records are gone, so they are not told of again.
  EXPECT_THAT(Open(config)->notes(), Not(Contains(HasSubstr("lost"))));
}

TEST_F(RecoveryTest, PrioritiesThatNoShardWritesAreLeftOut) {
  const v1::ReplayShard config = Config();
  ASSERT_EQ(Insert(*Open(config), {MakeItem(0, 2)}), absl::OkStatus());
  StorageBatch batch;
  batch.counters = ShardCounters{.next_serial = 5, .highest_priority = std::nan("")};
  for (const std::vector<float>& values :
       {std::vector<float>{1, std::nanf("")}, std::vector<float>{-1, 1}, std::vector<float>()}) {
    batch.priorities = {{.serial = 1, .values = values}};
    ASSERT_EQ((*ItemDatabase::Open(folder_ + "/database", false))->Write(batch, {}),
              absl::OkStatus());
    const auto table = Open(config);
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->Stats().total_weight(), 2);  // two positions of the first priority, 1
    ExpectReadable(*table);
  }
}

TEST_F(RecoveryTest, AFolderOfAnotherFormatIsRefused) {
  ASSERT_EQ(Insert(*Open(Config()), {MakeItem(0, 1)}), absl::OkStatus());
  const std::string path = folder_ + "/database";
  {
    std::vector<std::string> names;
    ASSERT_TRUE(rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), path, &names).ok());
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (const std::string& name : names) {
      families.emplace_back(name, rocksdb::ColumnFamilyOptions());
    }
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open(rocksdb::DBOptions(), path, families, &handles, &opened).ok());
    const std::unique_ptr<rocksdb::DB> database(opened);
    v1::StoredShard shard;
    shard.set_version(2);
    EXPECT_TRUE(database->Put(rocksdb::WriteOptions(), "shard", shard.SerializeAsString()).ok());
    for (rocksdb::ColumnFamilyHandle* handle : handles) {
      EXPECT_TRUE(database->DestroyColumnFamilyHandle(handle).ok());
    }
  }
  const absl::Status status = DurableStorage::Open({.folder = folder_}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("formats of version 2, must be 1"));
}

TEST_F(RecoveryTest, AFileThatIsNotTheLogsDoesNotTakeThePlaceOfASegment) {
  const v1::ReplayShard config = Config();
  ASSERT_EQ(Insert(*Open(config), {MakeItem(0, 1)}), absl::OkStatus());
  for (const char* name : {"1", "+1", "0000001", "000000001", "4294967297"}) {
    std::ofstream(folder_ + "/segments/" + name + ".segment") << "something else";
  }
  const auto table = Open(config);
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(StoredIds(*table), IdsOf(0, 1));
  ExpectReadable(*table);
}

TEST_F(RecoveryTest, OfTwoRecordsOfAGameTheLaterOneCounts) {
  const v1::ReplayShard config = Config();
  {
    const auto table = Open(config);
    ASSERT_EQ(Insert(*table, {MakeItem(0, 1, 0, 500)}), absl::OkStatus());
    ASSERT_EQ(Insert(*table, {MakeItem(1, 1)}), absl::OkStatus());
  }
  // The bytes of the older record were written over.
  WriteRecord(1, MakeItem(1, 1).metadata.id, {.segment = 1, .bytes = 10, .crc32c = 77});
  const auto table = Open(config);
  EXPECT_EQ(StoredIds(*table), IdsOf(1, 2));
  ExpectReadable(*table);
}

TEST_F(RecoveryTest, AStaleRecordDoesNotBringAnEvictedGameBack) {
  v1::ReplayShard config = Config();
  config.set_max_positions(2);
  {
    const auto table = Open(config);
    for (uint64_t i = 0; i < 4; ++i) ASSERT_EQ(Insert(*table, {MakeItem(i, 1)}), absl::OkStatus());
    ASSERT_EQ(table->Flush(), absl::OkStatus());
  }
  const std::vector<ItemDatabase::Record> records = Records();
  ASSERT_EQ(records.size(), 2);
  // Written before game 1 was stored, and its bytes are still there.
  WriteRecord(0, MakeItem(1, 1).metadata.id, records[0].place);
  config.set_max_positions(100);
  const auto table = Open(config);
  EXPECT_EQ(StoredIds(*table), IdsOf(2, 4));
  EXPECT_EQ(EvictedIds(*table), IdsOf(0, 2));
}

// The second game of that id came when the first one was forgotten.
TEST_F(RecoveryTest, AGameStoredAgainAfterItWasForgottenStays) {
  v1::ReplayShard config = Config();
  config.set_max_positions(1);
  {
    const auto table = Open(config);
    ASSERT_EQ(Insert(*table, {MakeItem(0, 1)}), absl::OkStatus());
    ASSERT_EQ(Insert(*table, {MakeItem(1, 1)}), absl::OkStatus());
    ASSERT_EQ(table->Flush(), absl::OkStatus());
  }
  const std::vector<ItemDatabase::Record> records = Records();
  ASSERT_EQ(records.size(), 1);
  WriteRecord(50, MakeItem(0, 1).metadata.id, records[0].place);
  config.set_max_positions(100);
  EXPECT_EQ(StoredIds(*Open(config)), IdsOf(0, 2));
}

TEST_F(RecoveryTest, RememberedIdsAreBoundedByMemoryAlsoAfterAStart) {
  v1::ReplayShard config = Config();
  config.set_max_positions(5);
  config.set_remember_evicted_seconds(1'000'000);
  {
    const auto table = Open(config);
    for (uint64_t i = 0; i < 105; ++i) {
      ASSERT_EQ(Insert(*table, {MakeItem(i, 1)}), absl::OkStatus());
    }
    ASSERT_EQ(table->Flush(), absl::OkStatus());
    EXPECT_EQ(table->Stats().remembered_ids(), 100);
    EXPECT_EQ(table->Stats().ids_forgotten_early(), 0);
  }
  config.set_remember_evicted_bytes(40 * IdSet::kBytesOfEvicted);
  const auto table = Open(config);
  EXPECT_EQ(EvictedIds(*table), IdsOf(60, 100));
  EXPECT_EQ(table->Stats().remembered_ids(), 40);
  for (uint64_t i = 105; i < 200; ++i) {
    ASSERT_EQ(Insert(*table, {MakeItem(i, 1)}), absl::OkStatus());
  }
  EXPECT_EQ(EvictedIds(*table), IdsOf(155, 195));
  EXPECT_EQ(table->Stats().remembered_ids(), 40);
  EXPECT_GE(table->Stats().ids_forgotten_early(), 95);
}

// The write reaches RocksDB's log, and yet fails; the client sends the game again.
TEST_F(RecoveryTest, AFailedWriteThatReachedTheLogNeitherDoublesNorRevivesItsGame) {
  v1::ReplayShard config = Config();
  config.set_mode(v1::ReplayShard::DURABLE_SYNC);
  config.set_max_positions(3);
  {
    const auto table = Open(config);
    ASSERT_EQ(Insert(*table, {MakeItem(9, 1)}), absl::OkStatus());
    disk_faults::FailSyncs(folder_ + "/database", 1);
    ASSERT_FALSE(Insert(*table, {MakeItem(0, 1)}).ok());
    ASSERT_EQ(Insert(*table, {MakeItem(0, 1)}), absl::OkStatus());
    EXPECT_EQ(table->Stats().items(), 2);
  }
  EXPECT_EQ(Records().size(), 2);
  {
    const auto table = Open(config);
    EXPECT_EQ(table->Stats().items(), 2);
    for (uint64_t i = 1; i < 4; ++i) ASSERT_EQ(Insert(*table, {MakeItem(i, 1)}), absl::OkStatus());
    ASSERT_EQ(table->Flush(), absl::OkStatus());
  }
  config.set_max_positions(100);
  const auto table = Open(config);
  EXPECT_EQ(StoredIds(*table), IdsOf(1, 4));
  ExpectReadable(*table);
}

TEST_F(RecoveryTest, AFailedReplacementLeavesTheStoredGame) {
  v1::ReplayShard config = Config();
  config.set_mode(v1::ReplayShard::DURABLE_SYNC);
  {
    const auto table = Open(config);
    ASSERT_EQ(Insert(*table, {MakeItem(0, 1, 0, 4000)}), absl::OkStatus());
    disk_faults::FailSyncs(folder_ + "/database", 1);
    ASSERT_FALSE(Insert(*table, {MakeItem(0, 1, 0, 5000)}, /*replace=*/true).ok());
    // The file with the failed replacement is full and goes.
    for (uint64_t i = 1; i < 40; ++i) {
      ASSERT_EQ(Insert(*table, {MakeItem(i, 1, 0, 4000)}), absl::OkStatus());
    }
  }
  const std::vector<ItemDatabase::Record> records = Records();
  ASSERT_EQ(records.size(), 40);
  EXPECT_LT(records[0].place.bytes, 5000);
  const auto table = Open(config);
  EXPECT_EQ(StoredIds(*table), IdsOf(0, 40));
  ExpectReadable(*table);
}

TEST_F(RecoveryTest, WhatIsAcknowledgedInANewFolderSurvivesAPowerCut) {
  v1::ReplayShard config = Config();
  config.set_mode(v1::ReplayShard::DURABLE_SYNC);
  std::filesystem::create_directory(folder_);
  disk_faults::SyncAll(folder_);
  const std::string copy = folder_ + ".power_cut";
  const auto table = Open(config, folder_ + "/new/shard");
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1)}), absl::OkStatus());
  disk_faults::CopyAfterPowerCut(folder_, copy);
  const auto after = Open(config, copy + "/new/shard");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(StoredIds(*after), IdsOf(0, 1));
  ExpectReadable(*after);
  std::filesystem::remove_all(copy);
}

// In the mode DURABLE, before a shard hands over its items.
TEST_F(RecoveryTest, WhatIsSyncedSurvivesAPowerCutInEveryMode) {
  const std::string after = folder_ + ".power_cut";
  std::filesystem::create_directories(folder_);
  disk_faults::SyncAll(folder_);
  const auto table = Open(Config(), folder_ + "/shard");
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1, 0, 4000)}), absl::OkStatus());
  ASSERT_EQ(table->Sync(), absl::OkStatus());
  ASSERT_EQ(Insert(*table, {MakeItem(1, 1, 0, 4000)}), absl::OkStatus());
  disk_faults::CopyAfterPowerCut(folder_, after);
  const auto left = Open(Config(), after + "/shard");
  ASSERT_NE(left, nullptr);
  EXPECT_TRUE(StoredIds(*left).contains(IdString(0)));
  ExpectReadable(*left);
  std::filesystem::remove_all(after);
}

TEST_F(RecoveryTest, WhatIsAcknowledgedInDurableSyncSurvivesAPowerCut) {
  v1::ReplayShard config = Config();
  config.set_mode(v1::ReplayShard::DURABLE_SYNC);
  const std::string copy = folder_ + ".power_cut";
  const auto table = Open(config);
  for (uint64_t i = 0; i < 50; ++i) {
    ASSERT_EQ(Insert(*table, {MakeItem(i, 1, 0, 4000)}), absl::OkStatus());
    if (i % 10 != 9) continue;
    disk_faults::CopyAfterPowerCut(folder_, copy);
    const auto after = Open(config, copy);
    ASSERT_NE(after, nullptr);
    EXPECT_EQ(StoredIds(*after), IdsOf(0, i + 1));
    ExpectReadable(*after);
  }
  std::filesystem::remove_all(copy);
}

}  // namespace
}  // namespace mallocmuzero
