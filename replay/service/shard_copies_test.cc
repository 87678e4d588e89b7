#include "replay/service/shard_copies.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/testing/resource_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "replay/service/replay_table.h"
#include "replay/service/storage.h"
#include "replay/service/testing/disk_faults.h"
#include "replay/service/testing/durable_storage_fixture.h"
#include "replay/service/testing/items.h"

namespace mallocmuzero {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ShardCopies : public DurableStorageTest {
 protected:
  ShardCopies() { RemoveAll(); }
  ~ShardCopies() override { RemoveAll(); }

  // The names of all folders beside the data that begin with the data's name and a dot.
  std::vector<std::string> FoldersBeside() const {
    const std::filesystem::path data(folder_);
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(data.parent_path())) {
      const std::string path = entry.path().string();
      if (absl::StartsWith(path, data.lexically_normal().string() + ".")) paths.push_back(path);
    }
    return paths;
  }

  void RemoveAll() const {
    for (const std::string& path : FoldersBeside()) std::filesystem::remove_all(path);
  }

  // Inserts ten items of 40 kB, which take the places of the ten before.
  static void Fill(ReplayTable& table, uint64_t first) {
    for (uint64_t i = first; i < first + 10; ++i) {
      ASSERT_EQ(Insert(table, {MakeItem(i, 1, 0, 40000)}), absl::OkStatus());
    }
    ASSERT_EQ(table.Flush(), absl::OkStatus());
  }

  v1::ReplayShard TenItems() const {
    v1::ReplayShard config = Config();
    config.set_max_positions(10);
    return config;
  }
};

TEST_F(ShardCopies, ANewOneRemovesTheOldestIfThereAreTooMany) {
  v1::ReplayShard config = TenItems();
  config.set_copies(2);
  const auto table = Open(config);
  std::vector<std::string> paths;
  for (uint64_t i = 0; i < 4; ++i) {
    Fill(*table, 10 * i);
    const absl::StatusOr<ShardCopy> copy = table->Checkpoint();
    ASSERT_TRUE(copy.ok()) << copy.status();
    paths.push_back(copy->path);
    EXPECT_EQ(copy->removed.size(), i < 2 ? 0 : 1);
    if (i >= 2) {
      EXPECT_EQ(copy->removed[0], paths[i - 2]);
    }
  }
  EXPECT_EQ(FoldersBeside().size(), 2);
  EXPECT_EQ(StoredIds(*Open(config, paths[2])), IdsOf(20, 30));
  EXPECT_EQ(StoredIds(*Open(config, paths[3])), IdsOf(30, 40));
}

TEST_F(ShardCopies, ANewOneStaysAlsoAfterTheClockWasSetBack) {
  v1::ReplayShard config = TenItems();
  config.set_copies(1);
  const auto table = Open(config);
  Fill(*table, 0);
  const std::string later = folder_ + ".checkpoint-29990101T000000.000000Z";
  std::filesystem::create_directories(later);
  const absl::StatusOr<ShardCopy> copy = table->Checkpoint();
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_TRUE(std::filesystem::exists(copy->path));
  EXPECT_THAT(copy->removed, ElementsAre(later));
  EXPECT_THAT(FoldersBeside(), ElementsAre(copy->path));
}

TEST_F(ShardCopies, OnlyBytesThatTheDataNoLongerHaveCount) {
  v1::ReplayShard config = TenItems();
  config.set_copy_bytes(600'000);
  const auto table = Open(config);
  Fill(*table, 0);
  const absl::StatusOr<ShardCopy> first = table->Checkpoint();
  // The items of the first copy, 400 kB, have left the data and those of the second have not.
  Fill(*table, 10);
  const absl::StatusOr<ShardCopy> second = table->Checkpoint();
  ASSERT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  EXPECT_THAT(second->removed, IsEmpty());
  // Two copies would hold 800 kB that the data have no longer.
  Fill(*table, 20);
  const absl::StatusOr<ShardCopy> third = table->Checkpoint();
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_THAT(third->removed, ElementsAre(first->path));
  EXPECT_FALSE(std::filesystem::exists(first->path));
  EXPECT_TRUE(std::filesystem::exists(second->path));
}

TEST_F(ShardCopies, StayUpToTheirBytes) {
  std::filesystem::create_directories(folder_);
  std::vector<std::string> copies;
  for (const char* day : {"20260101", "20260102", "20260103"}) {
    copies.push_back(absl::StrCat(folder_, ".checkpoint-", day, "T000000.000000Z"));
    std::filesystem::create_directories(copies.back());
    std::ofstream(copies.back() + "/items") << std::string(1000, 'x');
  }
  EXPECT_THAT(RemoveOldCopies(folder_, {.copies = 3, .bytes = 3000}, copies[2]), IsEmpty());
  EXPECT_THAT(RemoveOldCopies(folder_, {.copies = 3, .bytes = 2999}, copies[2]),
              ElementsAre(copies[0]));
  // The newest copy stays however large it is.
  EXPECT_THAT(RemoveOldCopies(folder_, {.copies = 3, .bytes = 1}, copies[2]),
              ElementsAre(copies[1]));
  EXPECT_TRUE(std::filesystem::exists(copies[2]));
  std::filesystem::remove_all(copies[2]);
}

TEST_F(ShardCopies, ACopySurvivesAPowerCutInEveryMode) {
  const std::string disk = folder_ + ".disk";
  const std::string after = folder_ + ".power_cut";
  for (const v1::ReplayShard::Mode mode :
       {v1::ReplayShard::DURABLE, v1::ReplayShard::DURABLE_SYNC}) {
    std::filesystem::create_directory(disk);
    disk_faults::SyncAll(disk);
    v1::ReplayShard config = TenItems();
    config.set_mode(mode);
    const auto table = Open(config, disk + "/shard");
    Fill(*table, 0);
    const absl::StatusOr<ShardCopy> copy = table->Checkpoint();
    ASSERT_TRUE(copy.ok()) << copy.status();
    disk_faults::CopyAfterPowerCut(disk, after);
    const std::filesystem::path left =
        std::filesystem::path(after) / std::filesystem::path(copy->path).filename();
    ASSERT_TRUE(std::filesystem::is_directory(left)) << left;
    const auto restored = Open(config, left.string());
    ASSERT_NE(restored, nullptr);
    EXPECT_EQ(StoredIds(*restored), IdsOf(0, 10));
    for (const ReplayTable::Drawn& drawn : restored->Draw(v1::UNIFORM, 50, 1 << 20, false).items) {
      EXPECT_TRUE(drawn.bytes.Load().ok());
    }
    std::filesystem::remove_all(disk);
    std::filesystem::remove_all(after);
  }
}

TEST_F(ShardCopies, TheNewestIsKeptHoweverLargeItIs) {
  v1::ReplayShard config = TenItems();
  config.set_copies(1);
  config.set_copy_bytes(1);
  const auto table = Open(config);
  Fill(*table, 0);
  const absl::StatusOr<ShardCopy> copy = table->Checkpoint();
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_THAT(FoldersBeside(), ElementsAre(copy->path));
}

TEST_F(ShardCopies, OneThatAShardHasTakenForItsDataStays) {
  v1::ReplayShard config = TenItems();
  config.set_copies(1);
  const auto table = Open(config);
  Fill(*table, 0);
  const absl::StatusOr<ShardCopy> used = table->Checkpoint();
  ASSERT_TRUE(used.ok()) << used.status();
  EXPECT_EQ(StoredIds(*Open(config, used->path)), IdsOf(0, 10));
  EXPECT_TRUE(table->Checkpoint().ok());
  EXPECT_TRUE(table->Checkpoint().ok());
  EXPECT_EQ(FoldersBeside().size(), 2);
  EXPECT_EQ(StoredIds(*Open(config, used->path)), IdsOf(0, 10));
}

TEST_F(ShardCopies, OneThatAnOperatorHasRenamedStays) {
  v1::ReplayShard config = TenItems();
  config.set_copies(1);
  const auto table = Open(config);
  Fill(*table, 0);
  const absl::StatusOr<ShardCopy> renamed = table->Checkpoint();
  ASSERT_TRUE(renamed.ok()) << renamed.status();
  const std::string kept = folder_ + ".checkpoint-keep";
  std::filesystem::rename(renamed->path, kept);
  const absl::StatusOr<ShardCopy> copy = table->Checkpoint();
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_THAT(FoldersBeside(), UnorderedElementsAre(kept, copy->path));
}

TEST_F(ShardCopies, WhatInterruptedOnesHaveLeftIsRemovedAtTheStart) {
  const std::string unfinished = UnfinishedCopyPath(NewCopyPath(folder_));
  std::filesystem::create_directories(unfinished + "/segments");
  const auto table = Open(TenItems());
  EXPECT_THAT(FoldersBeside(), IsEmpty());
}

// The number of the file that is opened next.
rlim_t NextFile() {
  const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_GE(next, 0);
  close(next);
  return next;
}

// Another one is a folder of a copy that an operator removes at the same time.
TEST_F(ShardCopies, AFolderThatCannotBeOpenedDoesNotEndTheShard) {
  const std::string older = folder_ + ".checkpoint-20260101T000000.000000Z";
  const std::string newer = folder_ + ".checkpoint-20260102T000000.000000Z";
  for (const std::string& path : {folder_, older, newer}) {
    std::filesystem::create_directories(path + "/database");
    std::ofstream(path + "/database/file") << "content";
  }
  {
    const ResourceLimit one_more(RLIMIT_NOFILE, NextFile() + 1);
    EXPECT_THAT(RemoveOldCopies(folder_, {.copies = 1}, newer), ElementsAre(older));
  }
  RemoveUnfinishedCopies(folder_);
  EXPECT_THAT(FoldersBeside(), ElementsAre(newer));
}

}  // namespace
}  // namespace mallocmuzero
