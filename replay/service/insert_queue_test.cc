#include "replay/service/insert_queue.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mallocmuzero/v1/cluster.pb.h"
#include "replay/service/metrics.h"
#include "replay/service/replay_table.h"
#include "replay/service/storage.h"
#include "replay/service/testing/durable_storage_fixture.h"
#include "replay/service/testing/items.h"
#include "replay/service/testing/valid_shard.h"
#include "rpc/testing/await.h"

namespace mallocmuzero {
namespace {

using ::mallocmuzero::testing::Await;

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
