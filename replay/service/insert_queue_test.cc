#include "replay/service/insert_queue.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "replay/service/metrics.h"
#include "replay/service/replay_table.h"
#include "replay/service/slot.h"
#include "replay/service/storage.h"
#include "replay/service/testing/durable_storage_fixture.h"
#include "replay/service/testing/items.h"
#include "replay/service/testing/valid_shard.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using ::mallocmuzero::testing::Await;
using ::testing::ElementsAre;

// More is not read while it waits.
constexpr size_t kFull = size_t{64} << 20;

std::unique_ptr<InsertJob> MakeJob(uint64_t index, size_t payload_bytes = 10) {
  auto job = std::make_unique<InsertJob>();
  job->insert.items.push_back(MakeItem(index, 1, 0, payload_bytes));
  job->insert.indices.push_back(0);
  job->positions = 1;
  job->bytes = job->insert.items[0].wire.size();
  job->done = [](const absl::Status&, const v1::InsertResponse&) {};
  return job;
}

class FullDisk : public DurableStorageTest {};

TEST_F(FullDisk, HoldsTheGameAndItsStreamUntilThereIsRoom) {
  const auto table = Open(Config());
  ReplayMetrics metrics(nullptr);
  InsertQueue queue(*table, metrics, [] {});
  std::atomic<int> failed = 0;
  std::atomic<int> stored = 0;
  std::optional<FileSizeLimit> limit(1000);
  for (uint64_t i = 0; i < 3; ++i) {
    std::unique_ptr<InsertJob> job = MakeJob(i, 5000);
    job->done = [&](const absl::Status& status, const v1::InsertResponse& response) {
      ++(status.ok() && response.acknowledged() == 1 ? stored : failed);
    };
    queue.Add(std::move(job));
  }
  ASSERT_TRUE(Await([&] { return metrics.failed_commits().Value() >= 2; }));
  EXPECT_EQ(stored, 0);
  EXPECT_EQ(failed, 0);
  EXPECT_FALSE(table->storage().trouble().empty());
  limit.reset();
  EXPECT_TRUE(Await([&] { return stored == 3; }));
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(StoredIds(*table), IdsOf(0, 3));
  // The shard tries once a second, however many requests come.
  EXPECT_LT(metrics.failed_commits().Value(), 20);
}

// A storage on a disk that takes no write before Release.
class SlowStorage final : public Storage {
 public:
  bool on_disk() const override { return true; }
  absl::StatusOr<RecoveredShard> Recover() override { return memory_.Recover(); }
  void Restore(Slot slot, uint64_t serial) override { memory_.Restore(slot, serial); }
  absl::Status Commit(const StorageBatch& batch) override {
    begun_ = true;
    released_.WaitForNotification();
    return memory_.Commit(batch);
  }
  void Publish(const StorageBatch& batch) override { memory_.Publish(batch); }
  std::vector<LostItem> Tidy() override { return memory_.Tidy(); }
  void Remove(Slot slot) override { memory_.Remove(slot); }
  std::vector<StoredBytes> Get(absl::Span<const Slot> slots) override { return memory_.Get(slots); }
  absl::Status Sync() override { return memory_.Sync(); }
  uint64_t bytes_on_disk() const override { return 0; }
  uint64_t bytes_in_memory() const override { return memory_.bytes_in_memory(); }
  absl::StatusOr<ShardCopy> Checkpoint() override { return memory_.Checkpoint(); }
  std::string trouble() const override { return {}; }
  std::string hang() const override { return {}; }

  bool begun() const { return begun_; }  // whether a write waits
  void Release() { released_.Notify(); }

 private:
  MemoryStorage memory_;
  std::atomic<bool> begun_ = false;
  absl::Notification released_;
};

// An operator may ask a shard to retire again while the first request is still being served.
TEST(InsertQueue, EachStopWaitsForTheGroupThatIsBeingStored) {
  auto storage = std::make_unique<SlowStorage>();
  SlowStorage& disk = *storage;
  const auto table = *ReplayTable::Open(ValidShard(), std::move(storage));
  ReplayMetrics metrics(nullptr);
  InsertQueue queue(*table, metrics, [] {});
  std::atomic<bool> stored = false;
  std::unique_ptr<InsertJob> job = MakeJob(0);
  job->done = [&](const absl::Status& status, const v1::InsertResponse&) { stored = status.ok(); };
  queue.Add(std::move(job));
  ASSERT_TRUE(Await([&] { return disk.begun(); }));
  std::thread first([&] { queue.Stop(); });
  // From the beginning of a stop on, the queue refuses jobs.
  std::atomic<bool> refuses = false;
  ASSERT_TRUE(Await([&] {
    std::unique_ptr<InsertJob> late = MakeJob(1);
    late->done = [&](const absl::Status& status, const v1::InsertResponse&) {
      refuses = !status.ok();
    };
    queue.Add(std::move(late));
    return refuses.load();
  }));
  std::atomic<bool> returned = false;
  std::thread second([&] {
    queue.Stop();
    returned = true;
  });
  EXPECT_FALSE(Await([&] { return returned.load(); }, absl::Milliseconds(200)));
  disk.Release();
  first.join();
  second.join();
  EXPECT_TRUE(stored);
}

// A shard whose limiter holds back new items.
class HeldBack : public ::testing::Test {
 protected:
  HeldBack() {
    v1::ReplayShard config = ValidShard();
    config.mutable_rate_limit()->set_samples_per_insert(1);
    config.mutable_rate_limit()->set_min_positions(1);
    config.mutable_rate_limit()->set_error_buffer(4);
    table_ = *ReplayTable::Open(config, std::make_unique<MemoryStorage>());
    queue_.emplace(*table_, metrics_, [] {});
    for (uint64_t i = 0; table_->MayInsert(0); ++i) queue_->Add(MakeJob(i));
  }

  ReplayMetrics metrics_{nullptr};
  std::unique_ptr<ReplayTable> table_;
  std::optional<InsertQueue> queue_;
};

TEST_F(HeldBack, NewItemsLeaveRoomForReplacements) {
  std::unique_ptr<InsertJob> job = MakeJob(1000);
  job->bytes = kFull;
  queue_->Add(std::move(job));
  int new_reads = 0;
  int replacement_reads = 0;
  queue_->WhenRoom(/*replacements=*/false, [&] { ++new_reads; });
  queue_->WhenRoom(/*replacements=*/true, [&] { ++replacement_reads; });
  EXPECT_EQ(new_reads, 0);
  EXPECT_EQ(replacement_reads, 1);
}

TEST_F(HeldBack, AReplacementWaitsForTheNewItemsOfItsStream) {
  const size_t held = queue_->waiting();
  const int streams[2] = {};
  std::vector<std::pair<const void*, bool>> stored;  // the stream, and whether it was a replacement
  const auto add = [&](uint64_t index, const void* stream, bool replace) {
    std::unique_ptr<InsertJob> job = MakeJob(index);
    job->stream = stream;
    job->insert.replace = replace;
    job->done = [&stored, stream, replace](const absl::Status&, const v1::InsertResponse&) {
      stored.emplace_back(stream, replace);
    };
    queue_->Add(std::move(job));
  };
  add(1000, &streams[0], /*replace=*/false);
  add(0, &streams[0], /*replace=*/true);
  add(0, &streams[1], /*replace=*/true);
  EXPECT_THAT(stored, ElementsAre(std::pair(&streams[1], true)));
  EXPECT_EQ(queue_->waiting(), held + 2);
  ASSERT_EQ(table_->Draw(v1::UNIFORM, 1, 1 << 20, /*unlimited=*/false).count, 1);
  queue_->Wake();
  EXPECT_THAT(stored, ElementsAre(std::pair(&streams[1], true), std::pair(&streams[0], false),
                                  std::pair(&streams[0], true)));
}

TEST_F(HeldBack, AGroupIsNotLargerThanTheLimiterAllows) {
  ASSERT_EQ(queue_->waiting(), 0);
  for (uint64_t i = 1000; i < 1006; ++i) queue_->Add(MakeJob(i));
  ASSERT_EQ(queue_->waiting(), 6);
  // Each draw makes the limiter admit one more position.
  ASSERT_EQ(table_->Draw(v1::UNIFORM, 2, 1 << 20, /*unlimited=*/false).count, 2);
  queue_->Wake();
  EXPECT_EQ(queue_->waiting(), 4);
}

TEST_F(HeldBack, ItemsOfClientsThatAreGoneMakeRoom) {
  bool is_there = true;
  std::unique_ptr<InsertJob> job = MakeJob(1000);
  job->bytes = kFull;
  job->wanted = [&] { return is_there; };
  queue_->Add(std::move(job));
  int reads = 0;
  queue_->WhenRoom(/*replacements=*/false, [&] { ++reads; });
  EXPECT_EQ(reads, 0);
  is_there = false;
  queue_->WhenRoom(/*replacements=*/false, [&] { ++reads; });
  EXPECT_EQ(reads, 2);
  EXPECT_EQ(queue_->waiting(), 0);
}

}  // namespace
}  // namespace mallocmuzero
