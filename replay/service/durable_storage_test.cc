#include "replay/service/durable_storage.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "mallocmuzero/v1/replay.pb.h"
#include "replay/service/replay_table.h"
#include "replay/service/storage.h"
#include "replay/service/testing/durable_storage_fixture.h"
#include "replay/service/testing/items.h"
#include "replay/wire/item.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(DurableStorageTest, WhatWasStoredIsThereAgain) {
  const v1::ReplayShard config = Config();
  {
    const auto table = Open(config);
    for (uint64_t i = 0; i < 20; ++i) ASSERT_EQ(Insert(*table, {MakeItem(i, 7)}), absl::OkStatus());
  }
  const auto table = Open(config);
  EXPECT_EQ(table->Stats().items(), 20);
  EXPECT_EQ(table->Stats().positions(), 140);
  EXPECT_EQ(table->Stats().inserted_positions(), 140);
  EXPECT_EQ(StoredIds(*table), IdsOf(0, 20));
  // The shard knows the id of a recovered item, so a second insert is a duplicate.
  ASSERT_EQ(Insert(*table, {MakeItem(3, 7)}), absl::OkStatus());
  EXPECT_EQ(table->Stats().duplicate_items(), 1);
  const ReplayTable::Draws draws = table->Draw(v1::UNIFORM, 200, 1 << 20, false);
  EXPECT_EQ(draws.count, 200);
  for (const ReplayTable::Drawn& drawn : draws.items) {
    const absl::StatusOr<grpc::Slice> bytes = drawn.bytes.Load();
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(ViewOf(*bytes), ViewOf(MakeItem(IndexOf(ViewOf(*bytes)), 7).wire));
  }
}

TEST_F(DurableStorageTest, EvictedIdsAreRememberedAndTheirFilesGo) {
  v1::ReplayShard config = Config();
  config.set_max_positions(10);
  uint64_t on_disk = 0;
  {
    const auto table = Open(config);
    // 400 items of 4 kB pass through a shard that holds ten. They fill 25 files of 64 kB.
    for (uint64_t i = 0; i < 400; ++i) {
      ASSERT_EQ(Insert(*table, {MakeItem(i, 1, 0, 4000)}), absl::OkStatus());
    }
    ASSERT_EQ(table->Flush(), absl::OkStatus());
    for (const auto& file : std::filesystem::directory_iterator(folder_ + "/segments")) {
      on_disk += file.file_size();
    }
    EXPECT_LT(on_disk, 3 << 16);
  }
  const auto table = Open(config);
  EXPECT_EQ(StoredIds(*table), IdsOf(390, 400));
  EXPECT_EQ(EvictedIds(*table), IdsOf(0, 390));
  EXPECT_EQ(table->Stats().evicted_items(), 390);
  ASSERT_EQ(Insert(*table, {MakeItem(5, 1, 0, 4000)}), absl::OkStatus());
  EXPECT_EQ(StoredIds(*table), IdsOf(390, 400));
}

TEST_F(DurableStorageTest, WhatIsReplacedLeavesTheDisk) {
  const auto table = Open(Config());
  // Ten items of 4 kB are replaced forty times, which fills 25 files of 64 kB.
  for (uint64_t i = 0; i < 410; ++i) {
    ASSERT_EQ(Insert(*table, {MakeItem(i % 10, 1, 0, 4000)}, /*replace=*/i >= 10),
              absl::OkStatus());
  }
  uint64_t on_disk = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_ + "/segments")) {
    on_disk += file.file_size();
  }
  EXPECT_LT(on_disk, 5 << 16);  // in use, being filled, and kept to be overwritten
}

TEST_F(DurableStorageTest, PrioritiesAndCountersComeBack) {
  v1::ReplayShard config = Config();
  config.mutable_rate_limit()->set_samples_per_insert(2);
  config.mutable_rate_limit()->set_error_buffer(100);
  {
    const auto table = Open(config);
    ASSERT_EQ(Insert(*table, {MakeItem(1, 3), MakeItem(2, 1)}), absl::OkStatus());
    v1::UpdatePrioritiesRequest request;
    for (uint32_t position = 0; position < 3; ++position) {
      auto& update = *request.add_updates();
      update.set_id(IdString(1));
      update.set_position(position);
      update.set_priority(position + 2);
    }
    ASSERT_EQ(*table->UpdatePriorities(request), 3);
    EXPECT_EQ(table->Draw(v1::UNIFORM, 5, 1 << 20, false).count, 5);
    ASSERT_EQ(table->Flush(), absl::OkStatus());
  }
  {
    const auto table = Open(config);
    // The updated item has 2 + 3 + 4 = 9. The priority of the other one was never stored, so it
    // starts again with the recent highest priority, 4.
    EXPECT_NEAR(table->Stats().total_weight(), 10 + 3, 1e-6);
    EXPECT_EQ(table->Stats().drawn_positions(), 5);
    EXPECT_EQ(table->Stats().limiter_error(), 5 - 4 * 2);
    EXPECT_THAT(table->notes(), ElementsAre(HasSubstr("found 2")));
  }
  config.mutable_rate_limit()->set_samples_per_insert(3);
  const auto table = Open(config);
  EXPECT_EQ(table->Stats().rate_limit().samples_per_insert(), 3);
  EXPECT_THAT(table->notes(),
              ElementsAre(HasSubstr("found 2"), HasSubstr("samples_per_insert: 2")));
}

TEST_F(DurableStorageTest, PrioritiesThatCouldNotBeStoredAreStoredTheNextTime) {
  const v1::ReplayShard config = Config();
  {
    const auto table = Open(config);
    ASSERT_EQ(Insert(*table, {MakeItem(1, 1)}), absl::OkStatus());
    v1::UpdatePrioritiesRequest request;
    auto& update = *request.add_updates();
    update.set_id(IdString(1));
    update.set_priority(0.25);  // a new position has 1
    ASSERT_EQ(*table->UpdatePriorities(request), 1);
    std::optional<FileSizeLimit> limit(1);
    const absl::Status full = table->Flush();
    limit.reset();
    EXPECT_FALSE(full.ok());
    ASSERT_EQ(table->Flush(), absl::OkStatus());
  }
  EXPECT_NEAR(Open(config)->Stats().total_weight(), 0.25, 1e-6);
}

// The process that the next test kills, and no test of its own. Writes each index to stderr once
// the item is stored.
TEST_F(DurableStorageTest, DISABLED_InsertsUntilItIsKilled) {
  const char* folder = std::getenv("KILLED_FOLDER");
  ASSERT_NE(folder, nullptr);
  v1::ReplayShard config = Config();
  config.set_max_positions(1'000'000);
  const auto table = Open(config, folder);
  for (uint64_t i = 0; Insert(*table, {MakeItem(i, 1, 0, 1 + i % 3000)}).ok(); ++i) {
    ASSERT_EQ(write(STDERR_FILENO, &i, sizeof(i)), sizeof(i));
  }
}

TEST_F(DurableStorageTest, WhatIsAcknowledgedSurvivesKill) {
  v1::ReplayShard config = Config();
  config.set_max_positions(1'000'000);
  uint64_t stored = 0;
  for (int round = 0; round < 3; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      dup2(pipe_ends[1], STDERR_FILENO);
      setenv("KILLED_FOLDER", folder_.c_str(), 1);
      execl("/proc/self/exe", "durable", "--gtest_also_run_disabled_tests",
            "--gtest_filter=DurableStorageTest.DISABLED_InsertsUntilItIsKilled", nullptr);
      _exit(1);
    }
    close(pipe_ends[1]);
    uint64_t last = 0;
    for (uint64_t seen = 0; seen < 200 + 77 * round;) {
      ASSERT_EQ(read(pipe_ends[0], &last, sizeof(last)), sizeof(last));
      seen = last;
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(pipe_ends[0], &last, sizeof(last)) == sizeof(last)) {
    }
    close(pipe_ends[0]);
    stored = std::max(stored, last + 1);
    const auto table = Open(config);
    const std::set<std::string> ids = StoredIds(*table);
    for (const std::string& id : IdsOf(0, stored)) EXPECT_TRUE(ids.contains(id));
    for (const ReplayTable::Drawn& drawn : table->Draw(v1::UNIFORM, 500, 1 << 20, false).items) {
      EXPECT_TRUE(drawn.bytes.Load().ok());
    }
  }
}

TEST_F(DurableStorageTest, ACheckpointIsWhatWasThereThen) {
  v1::ReplayShard config = Config();
  config.set_max_positions(50);
  const auto table = Open(config);
  for (uint64_t i = 0; i < 50; ++i) {
    ASSERT_EQ(Insert(*table, {MakeItem(i, 1, 0, 4000)}), absl::OkStatus());
  }
  const absl::StatusOr<ShardCopy> checkpoint = table->Checkpoint();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  // After this all items of the copy have left the original.
  for (uint64_t i = 50; i < 150; ++i) {
    ASSERT_EQ(Insert(*table, {MakeItem(i, 1, 0, 4000)}), absl::OkStatus());
  }
  ASSERT_EQ(table->Flush(), absl::OkStatus());
  const auto copy = Open(config, checkpoint->path);
  EXPECT_EQ(StoredIds(*copy), IdsOf(0, 50));
  for (const ReplayTable::Drawn& drawn : copy->Draw(v1::UNIFORM, 300, 1 << 20, false).items) {
    EXPECT_TRUE(drawn.bytes.Load().ok());
  }
  // An insert into the copy does not change the original.
  ASSERT_EQ(Insert(*copy, {MakeItem(999, 1, 0, 4000)}), absl::OkStatus());
  EXPECT_EQ(StoredIds(*table), IdsOf(100, 150));
}

TEST_F(DurableStorageTest, ACheckpointThatFailsLeavesNothingBehind) {
  const auto table = Open(Config());
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1)}), absl::OkStatus());
  // A removed file cannot be linked, like a file on a faulty disk.
  std::filesystem::remove(folder_ + "/segments/00000001.segment");
  EXPECT_FALSE(table->Checkpoint().ok());
  const std::filesystem::path folder(folder_);
  for (const auto& entry : std::filesystem::directory_iterator(folder.parent_path())) {
    EXPECT_THAT(entry.path().filename().string(),
                testing::Not(testing::StartsWith(folder.filename().string() + ".checkpoint")));
  }
}

TEST_F(DurableStorageTest, AFullDiskIsAnErrorAndPasses) {
  const v1::ReplayShard config = Config();
  {
    const auto table = Open(config);
    ASSERT_EQ(Insert(*table, {MakeItem(0, 1, 0, 20000)}), absl::OkStatus());
    // Files cannot grow beyond 30,000 bytes, as if the disk were full.
    std::optional<FileSizeLimit> limit(30000);
    const absl::Status full = Insert(*table, {MakeItem(1, 1, 0, 20000)});
    const absl::Status still_full = Insert(*table, {MakeItem(1, 1, 0, 20000)});
    limit.reset();
    EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
    EXPECT_EQ(still_full.code(), absl::StatusCode::kResourceExhausted) << still_full;
    EXPECT_THAT(table->storage().trouble(), HasSubstr("File too large"));
    EXPECT_EQ(StoredIds(*table), IdsOf(0, 1));
    EXPECT_EQ(Insert(*table, {MakeItem(1, 1, 0, 20000)}), absl::OkStatus());
    EXPECT_THAT(table->storage().trouble(), IsEmpty());
  }
  EXPECT_EQ(StoredIds(*Open(config)), IdsOf(0, 2));
}

TEST_F(DurableStorageTest, ADatabaseThatCannotBeWrittenToIsMended) {
  const v1::ReplayShard config = Config();
  uint64_t stored = 0;
  {
    const auto table = Open(config);
    // The database's log fails after its first few records.
    std::optional<FileSizeLimit> limit(4000);

    absl::Status status;
    while (stored < 1000) {
      status = Insert(*table, {MakeItem(stored, 1, 0, 1)});
      if (!status.ok()) break;
      ++stored;
    }
    limit.reset();
    EXPECT_FALSE(status.ok());
    ASSERT_EQ(Insert(*table, {MakeItem(stored, 1, 0, 1)}), absl::OkStatus());
    ASSERT_EQ(Insert(*table, {MakeItem(stored + 1, 1, 0, 1)}), absl::OkStatus());
    EXPECT_EQ(StoredIds(*table), IdsOf(0, stored + 2));
  }
  EXPECT_EQ(StoredIds(*Open(config)), IdsOf(0, stored + 2));
}

TEST_F(DurableStorageTest, DamageIsFoundWhenItIsRead) {
  const v1::ReplayShard config = Config();
  {
    const auto table = Open(config);
    ASSERT_EQ(Insert(*table, {MakeItem(0, 1, 0, 1000)}), absl::OkStatus());
  }
  {
    std::fstream file(folder_ + "/segments/00000001.segment",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(500);
    file.put('!');
  }
  const auto table = Open(config);
  const ReplayTable::Draws draws = table->Draw(v1::UNIFORM, 1, 1 << 20, false);
  ASSERT_THAT(draws.items, SizeIs(1));
  const absl::Status damage = draws.items[0].bytes.Load().status();
  EXPECT_EQ(damage.code(), absl::StatusCode::kDataLoss);
  // Reporting an item twice has the effect of reporting it once.
  table->NoteUnreadable(draws.items[0].source, damage);
  table->NoteUnreadable(draws.items[0].source, damage);
  ASSERT_EQ(table->Flush(), absl::OkStatus());
  EXPECT_EQ(table->Stats().unreadable_items(), 1);
  EXPECT_EQ(table->Stats().items(), 0);
  EXPECT_EQ(EvictedIds(*table), IdsOf(0, 1));
  // A late report does not remove another item that has the slot by then.
  ASSERT_EQ(Insert(*table, {MakeItem(1, 1, 0, 1000)}), absl::OkStatus());
  table->NoteUnreadable(draws.items[0].source, damage);
  ASSERT_EQ(table->Flush(), absl::OkStatus());
  EXPECT_EQ(StoredIds(*table), IdsOf(1, 2));
  EXPECT_EQ(table->Stats().unreadable_items(), 1);
}

TEST_F(DurableStorageTest, AReadThatFailsIsCountedAndTold) {
  const auto table = Open(Config());
  ASSERT_EQ(Insert(*table, {MakeItem(0, 1)}), absl::OkStatus());
  const ReplayTable::Draws draws = table->Draw(v1::UNIFORM, 1, 1 << 20, false);
  const absl::Status failed = absl::UnavailableError("1.segment: Input/output error");
  table->NoteUnreadable(draws.items[0].source, failed);
  table->NoteUnreadable(draws.items[0].source, failed);
  EXPECT_EQ(table->Stats().unreadable_items(), 2);
  EXPECT_THAT(table->TakeWarnings(),
              ElementsAre("2 reads of trajectories have failed; the first: 1.segment: "
                          "Input/output error"));
  EXPECT_THAT(table->TakeWarnings(), IsEmpty());
  // The item's bytes may be whole.
  ASSERT_EQ(table->Flush(), absl::OkStatus());
  EXPECT_EQ(StoredIds(*table), IdsOf(0, 1));
}

TEST_F(DurableStorageTest, ItemsWhoseFileIsCutShortAreLeftOut) {
  const v1::ReplayShard config = Config();
  {
    const auto table = Open(config);
    ASSERT_EQ(Insert(*table, {MakeItem(0, 1, 0, 1000)}), absl::OkStatus());
    ASSERT_EQ(Insert(*table, {MakeItem(1, 1, 0, 1000)}), absl::OkStatus());
  }
  std::filesystem::resize_file(folder_ + "/segments/00000001.segment", 1500);
  const auto table = Open(config);
  EXPECT_EQ(StoredIds(*table), IdsOf(0, 1));
  EXPECT_THAT(table->notes(), testing::Contains(HasSubstr("1 trajectories are lost")));
}

TEST_F(DurableStorageTest, ASecondProcessIsKeptOut) {
  const auto table = Open(Config());
  const auto second = DurableStorage::Open({.folder = folder_});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("another process"));
}

TEST_F(DurableStorageTest, ADamagedDatabaseIsNotTakenForALockedOne) {
  const v1::ReplayShard config = Config();
  for (uint64_t run = 0; run < 2;
       ++run) {  // the second run writes the first run's records to a table
    ASSERT_EQ(Insert(*Open(config), {MakeItem(run, 1)}), absl::OkStatus());
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/database")) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(20);
    file.write("!!!!!!!!", 8);
  }
  const auto storage = DurableStorage::Open({.folder = folder_});
  const absl::Status status = storage.ok() ? (*storage)->Recover().status() : storage.status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), testing::Not(HasSubstr("another process")));
}

TEST_F(DurableStorageTest, ADatabaseThatCannotBeOpenedIsNamed) {
  ASSERT_EQ(Insert(*Open(Config()), {MakeItem(1, 1)}), absl::OkStatus());
  std::ofstream(folder_ + "/database/CURRENT") << "MANIFEST";  // cut off
  const absl::Status status = DurableStorage::Open({.folder = folder_}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_ + ": "));
}

TEST_F(DurableStorageTest, TheCacheIsBounded) {
  cache_bytes_ = 10000;
  const auto table = Open(Config());
  for (uint64_t i = 0; i < 20; ++i) {
    ASSERT_EQ(Insert(*table, {MakeItem(i, 1, 0, 4000)}), absl::OkStatus());
    EXPECT_LE(table->storage().bytes_in_memory(), 10000);
  }
  EXPECT_GT(table->storage().bytes_in_memory(), 4000);
  for (const ReplayTable::Drawn& drawn : table->Draw(v1::UNIFORM, 100, 1 << 20, false).items) {
    EXPECT_TRUE(drawn.bytes.Load().ok());
  }
}

}  // namespace
}  // namespace mallocmuzero
