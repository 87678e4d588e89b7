// Tests of the batches that a table gives its storage, and of the storage's errors.

#include <grpcpp/support/slice.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/id_set.h"
#include "replay/service/replay_table.h"
#include "replay/service/storage.h"
#include "replay/service/testing/items.h"
#include "replay/service/testing/valid_shard.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The answers that a storage is to give, and the batches that it has got. They have no bytes.
struct Script {
  RecoveredShard recovered;
  bool is_full = false;
  std::vector<StorageBatch> stored;
};

StorageBatch WithoutBytes(const StorageBatch& batch) {
  StorageBatch copy;
  for (const StorageBatch::Put& put : batch.puts) {
    copy.puts.push_back(
        {.slot = put.slot, .serial = put.serial, .item = {.metadata = put.item.metadata}});
  }
  copy.evictions = batch.evictions;
  copy.counters = batch.counters;
  copy.forget_before = batch.forget_before;
  return copy;
}

// Says that it is on disk, and keeps items in memory.
class ScriptedStorage final : public Storage {
 public:
  explicit ScriptedStorage(Script& script) : script_(script) {}

  bool on_disk() const override { return true; }
  absl::StatusOr<RecoveredShard> Recover() override { return script_.recovered; }
  void Restore(Slot, uint64_t) override {}
  absl::Status Commit(const StorageBatch& batch) override {
    if (script_.is_full) return absl::ResourceExhaustedError("full");
    script_.stored.push_back(WithoutBytes(batch));
    return absl::OkStatus();
  }
  void Publish(const StorageBatch& batch) override { items_.Publish(batch); }
  std::vector<LostItem> Tidy() override { return {}; }
  void Remove(Slot slot) override { items_.Remove(slot); }
  std::vector<StoredBytes> Get(absl::Span<const Slot> slots) override { return items_.Get(slots); }
  absl::Status Sync() override { return absl::OkStatus(); }
  uint64_t bytes_on_disk() const override { return 0; }
  uint64_t bytes_in_memory() const override { return items_.bytes_in_memory(); }
  absl::StatusOr<ShardCopy> Checkpoint() override { return items_.Checkpoint(); }
  std::string trouble() const override { return {}; }
  std::string hang() const override { return {}; }

 private:
  Script& script_;
  MemoryStorage items_;
};

std::unique_ptr<ReplayTable> OpenTable(Script& script, const v1::ReplayShard& config) {
  return *ReplayTable::Open(config, std::make_unique<ScriptedStorage>(script));
}

v1::ReplayShard ShardOf(uint64_t max_positions) {
  v1::ReplayShard config = ValidShard();
  config.set_max_positions(max_positions);
  return config;
}

std::vector<std::string> EvictedBy(const StorageBatch& batch) {
  std::vector<std::string> ids;
  for (const StorageBatch::Eviction& evicted : batch.evictions) {
    ids.emplace_back(evicted.id.data(), evicted.id.size());
  }
  return ids;
}

TEST(ReplayTableStorage, SlotsOfAnInsertThatFailedAreUsedAgain) {
  Script script;
  const auto table = OpenTable(script, ShardOf(10));
  script.is_full = true;
  for (int attempt = 0; attempt < 3; ++attempt) {
    ASSERT_FALSE(Insert(*table, {MakeItem(0, 1), MakeItem(1, 1)}).ok());
  }
  script.is_full = false;
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1), MakeItem(1, 1)}), absl::OkStatus());
  ASSERT_THAT(script.stored, SizeIs(1));
  ASSERT_THAT(script.stored[0].puts, SizeIs(2));
  EXPECT_LT(script.stored[0].puts[0].slot, 2);
  EXPECT_LT(script.stored[0].puts[1].slot, 2);
}

TEST(ReplayTableStorage, EvictionsOfAnInsertThatFailedAreStoredWithTheNextOne) {
  Script script;
  const auto table = OpenTable(script, ShardOf(1));
  for (uint64_t i = 0; i < 2; ++i) ASSERT_EQ(Insert(*table, {MakeItem(i, 1)}), absl::OkStatus());
  script.is_full = true;
  ASSERT_FALSE(Insert(*table, {MakeItem(2, 1)}).ok());
  script.is_full = false;
  ASSERT_EQ(Insert(*table, {MakeItem(2, 1)}), absl::OkStatus());
  ASSERT_THAT(script.stored, SizeIs(3));
  EXPECT_THAT(EvictedBy(script.stored[1]), IsEmpty());
  EXPECT_THAT(EvictedBy(script.stored[2]), ElementsAre(IdString(0)));
}

// The counters of a damaged disk may be older than its items.
TEST(ReplayTableStorage, SerialsGoOnBehindThoseOfRecoveredItems) {
  Script script;
  script.recovered.items = {
      {.serial = 7, .metadata = MakeItem(0, 1).metadata, .bytes = MakeItem(0, 1).wire.size()}};
  const auto table = OpenTable(script, ShardOf(10));
  ASSERT_EQ(Insert(*table, {MakeItem(1, 1)}), absl::OkStatus());
  ASSERT_THAT(script.stored, SizeIs(1));
  ASSERT_THAT(script.stored[0].puts, SizeIs(1));
  EXPECT_EQ(script.stored[0].puts[0].serial, 8);
}

TEST(ReplayTableStorage, AReplacementIsStoredWithTheReturnOfTheGameItReplaces) {
  Script script;
  const auto table = OpenTable(script, ShardOf(10));
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1, /*total_return=*/0.5)}), absl::OkStatus());
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1, 0.25)}, /*replace=*/true), absl::OkStatus());
  ASSERT_THAT(script.stored, SizeIs(2));
  ASSERT_THAT(script.stored[1].puts, SizeIs(1));
  EXPECT_EQ(script.stored[1].puts[0].item.metadata.total_return, 0.5);
}

TEST(ReplayTableStorage, IdsThatAreForgottenEarlyMayBeDeleted) {
  Script script;
  v1::ReplayShard config = ShardOf(1);
  config.set_remember_evicted_bytes(IdSet::kBytesOfEvicted);  // one id
  const auto table = OpenTable(script, config);
  for (uint64_t i = 0; i < 4; ++i) ASSERT_EQ(Insert(*table, {MakeItem(i, 1)}), absl::OkStatus());
  ASSERT_THAT(script.stored, SizeIs(4));
  // The first insert knows of no id. When the last one is stored, 0 is forgotten.
  ASSERT_THAT(EvictedBy(script.stored[1]), IsEmpty());
  ASSERT_THAT(EvictedBy(script.stored[2]), ElementsAre(IdString(0)));
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  EXPECT_LE(script.stored[0].forget_before, now);
  EXPECT_GE(script.stored[3].forget_before, script.stored[2].evictions[0].forget_at);
}

TEST(ReplayTableStorage, ADamagedItemThatLeavesDoesNotCountAsLeavingBecauseOfTheBounds) {
  Script script;
  const auto table = OpenTable(script, ShardOf(1));
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1)}), absl::OkStatus());
  const ReplayTable::Draws draws = table->Draw(v1::UNIFORM, 1, 1 << 20, /*unlimited=*/false);
  ASSERT_THAT(draws.items, SizeIs(1));
  table->NoteUnreadable(draws.items[0].source, absl::DataLossError("wrong checksum"));
  ASSERT_EQ(table->Flush(), absl::OkStatus());
  EXPECT_EQ(EvictedIds(*table), IdsOf(0, 1));
  EXPECT_EQ(table->Stats().unreadable_items(), 1);
  EXPECT_EQ(table->Stats().evicted_items(), 0);
  for (uint64_t i = 1; i < 3; ++i) ASSERT_EQ(Insert(*table, {MakeItem(i, 1)}), absl::OkStatus());
  EXPECT_EQ(table->Stats().evicted_items(), 1);
}

// The shard remembered ids for a day before, and for an hour now.
TEST(ReplayTableStorage, IdsOfALongerMemoryDoNotDeleteNewOnes) {
  Script script;
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  script.recovered.evicted = {
      {.serial = 1, .id = MakeItem(100, 1).metadata.id, .forget_at = now + 86400}};
  v1::ReplayShard config = ShardOf(1);
  config.set_remember_evicted_seconds(3600);
  config.set_remember_evicted_bytes(IdSet::kBytesOfEvicted);  // one id
  const auto table = OpenTable(script, config);
  EXPECT_EQ(table->Stats().remembered_ids(), 1);
  for (uint64_t i = 0; i < 3; ++i) ASSERT_EQ(Insert(*table, {MakeItem(i, 1)}), absl::OkStatus());
  ASSERT_THAT(script.stored, SizeIs(3));
  // When the second insert evicted 0, the id of the longer memory was forgotten.
  ASSERT_THAT(EvictedBy(script.stored[2]), ElementsAre(IdString(0)));
  EXPECT_LE(script.stored[2].forget_before, script.stored[2].evictions[0].forget_at);
}

}  // namespace
}  // namespace mallocmuzero
